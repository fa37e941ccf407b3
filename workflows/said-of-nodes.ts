/**
 * What reports and people have said of the nodes of a pool: who has failed, is held, is to be tried again or
 * later. The view shows it in time; until it is as new as what was said, that counts, a failure for five minutes at most.
 */

import type { PoolLook, RememberedNode } from './contracts/cluster';
import { AcceptedWords } from './accepted-words';
import { byNode, reasonsByNode, withReasons } from './carried';
import type { NodeReport, PoolRolloutCarry } from './messages';
import { UpdatesUnderWay } from './updates-under-way';

/** A failure that the view still does not show by then is not one any more. */
const FAILED_UNSEEN_MS = 300_000;

export class SaidOfNodes extends UpdatesUnderWay {
  /** Failed on this config by our own reports; the view confirms it later, or never. */
  readonly failed: Map<string, NodeReport>;
  /** A person said: try again. */
  readonly retry: Set<string>;
  /** Those of them that had failed on this config: they count as failed until that try has ended. */
  readonly triedAgain: Set<string>;
  /** Drain timed out; tried again after all others. */
  readonly deferred: Map<string, string>;
  /** Held by a person; the view confirms it later. */
  readonly heldByUs: Map<string, string>;
  /** Held by us because somebody cancelled the update behind our back; to be written down. */
  readonly toHold: Set<string>;
  /** Those of which that is being written down. */
  readonly holding = new Set<string>();
  /** What people have said and is not written yet. */
  readonly words = new AcceptedWords();

  /** `resourceVersion` of the Nodes on which those holds are written; absent = not yet. */
  private readonly heldAt: Map<string, string>;

  constructor(carry: PoolRolloutCarry | undefined) {
    super(carry);
    this.failed = byNode(carry?.failedReports ?? []);
    this.retry = new Set(carry?.retry);
    this.triedAgain = new Set(carry?.triedAgain);
    this.deferred = reasonsByNode(carry?.deferred);
    this.heldByUs = reasonsByNode(carry?.heldByUs);
    this.toHold = new Set(carry?.toHold);
    this.heldAt = writtenByNode(carry);
  }

  /** Failed or held, also where that could not be written on its Node, which looks like a candidate. */
  isLeftOut(node: string): boolean {
    if (this.words.isToBeHeld(node)) return true;
    return !this.retry.has(node) && (this.failed.has(node) || this.heldByUs.has(node));
  }

  /**
   * Whether a person has asked for the node since, not knowing that this update had yet to end. It was not
   * begun for that, so its end is no answer.
   */
  isToBeTriedAfter({ node, outcome }: NodeReport): boolean {
    if (outcome === 'updated' || !this.retry.has(node)) return false;
    return this.children.get(node)?.isRetry !== true;
  }

  /** @param resourceVersion - of the Node then */
  holdIsWritten(node: string, resourceVersion: string): void {
    if (this.heldByUs.has(node)) this.heldAt.set(node, resourceVersion);
  }

  /** Somebody has cancelled its update in Temporal, and nobody has written that down. */
  protected holdUnwritten(node: string, reason: string): void {
    this.heldByUs.set(node, reason);
    this.heldAt.delete(node);
    this.toHold.add(node);
  }

  /** Nodes of which something is said, with the UID where a report names it. */
  protected rememberedSaid(): readonly RememberedNode[] {
    const failed = [...this.failed.values()].map(({ node, uid }) => ({
      node,
      ...(uid === undefined ? {} : { uid }),
    }));
    const others = [...this.deferred.keys(), ...this.retry, ...this.heldByUs.keys()];
    return [...others.map((node) => ({ node })), ...failed];
  }

  /** Why it was left out. */
  protected forgetWords(node: string): void {
    for (const nodes of [this.failed, this.deferred, this.heldByUs, this.heldAt, this.toHold]) {
      nodes.delete(node);
    }
  }

  /** That a person wants it tried again. */
  protected forgetRetry(node: string): void {
    this.retry.delete(node);
    this.triedAgain.delete(node);
  }

  /** It was said of another config. */
  protected forgetAllSaid(): void {
    const { failed, retry, triedAgain, deferred, heldByUs, heldAt, toHold } = this;
    for (const nodes of [failed, retry, triedAgain, deferred, heldByUs, heldAt, toHold]) {
      nodes.clear();
    }
  }

  protected forgetSaidThatIsShown(view: PoolLook): void {
    for (const { node } of view.failed) {
      if (this.showsReport(view, node)) this.failed.delete(node);
    }
    for (const { node } of view.held) {
      if (!this.showsHold(view, node)) continue;
      this.heldByUs.delete(node);
      this.heldAt.delete(node);
    }
  }

  protected expireSaid(now: number): void {
    for (const [node, { finishedAt }] of this.failed) {
      if (Date.parse(finishedAt) + FAILED_UNSEEN_MS <= now) this.failed.delete(node);
    }
  }

  protected carrySaid() {
    return {
      retry: [...this.retry],
      ...(this.triedAgain.size === 0 ? {} : { triedAgain: [...this.triedAgain] }),
      failedReports: [...this.failed.values()],
      deferred: withReasons(this.deferred),
      heldByUs: withReasons(this.heldByUs).map((hold) => ({
        ...hold,
        ...this.writtenAt(hold.node),
      })),
      toHold: [...this.toHold],
    } satisfies Partial<PoolRolloutCarry>;
  }

  private writtenAt(node: string): { readonly writtenAt?: string } {
    const writtenAt = this.heldAt.get(node);
    return writtenAt === undefined ? {} : { writtenAt };
  }

  /** A report that does not say how its node was left counts until it expires. */
  private showsReport(view: PoolLook, node: string): boolean {
    const { inServiceAt, leftAt } = this.failed.get(node) ?? {};
    return isAsNewAs(view, node, inServiceAt ?? leftAt);
  }

  private showsHold(view: PoolLook, node: string): boolean {
    return isAsNewAs(view, node, this.heldAt.get(node));
  }
}

/** @param version - of the Node when it was written; undefined = not written yet, or not known */
function isAsNewAs(view: PoolLook, node: string, version: string | undefined): boolean {
  if (version === undefined || view.outdated.includes(node)) return false;
  return view.versions.nodes >= Number(version);
}

function writtenByNode(carry: PoolRolloutCarry | undefined): Map<string, string> {
  const written = (carry?.heldByUs ?? []).flatMap(({ node, writtenAt }) =>
    writtenAt === undefined ? [] : [[node, writtenAt] as const],
  );
  return new Map(written);
}
