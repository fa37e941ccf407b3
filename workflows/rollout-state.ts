/**
 * What a rollout remembers between two looks at its pool. Bookkeeping only: which updates run,
 * what is said of whom, and what the view cannot show yet. The ends of updates are in
 * `ended-updates.ts`, the decisions in `rollout-decisions.ts` and in `core/rollout`, what it says of
 * itself in `rollout-progress.ts`.
 *
 * The view comes from a cache and may be behind. Two kinds of memory make up for that: what a report
 * saw of a Node counts while the view is older than it, and a slot that was given counts until its
 * update has reported, and beyond that while a node is left broken, whatever the view shows.
 */

import { settleBroken } from '../core/rollout/index';
import type {
  DepartedNode,
  PictureVersions,
  PoolLook,
  RememberedNode,
  SeenNode,
} from './activity-contracts';
import { AcceptedWords } from './accepted-words';
import { byNode, instant, reasonsByNode, withReasons } from './carried';
import { EndedUpdates } from './ended-updates';
import type { ChildState, NodeReport, PoolRolloutCarry, PoolRolloutInput } from './messages';
import { PauseWish, type Pause } from './pause-wish';
import { LAG_MS, UpdatesUnderWay } from './updates-under-way';

/** A failure that the view still does not show by then is not one any more. */
const FAILED_UNSEEN_MS = 300_000;

/** Of a Node whose version nobody said: no picture is older. */
const ANY_VERSION = '0';

export class Rollout extends UpdatesUnderWay {
  readonly pool: string;
  startedAt: string;
  view: PoolLook | undefined;
  /** What the last look was made from; the next one is as new. */
  private asNewAs: PictureVersions | undefined;
  /** Why the last look failed. */
  viewProblem: string | undefined;
  updatedByUs: number;
  /** Failed on this config by our own reports; the view confirms it later, or never. */
  readonly failed: Map<string, NodeReport>;
  /** A person said: try again. */
  readonly retry: Set<string>;
  /** Those of them that had failed on this config: they count as failed until that try has ended. */
  readonly triedAgain: Set<string>;
  /** Rollouts that were begun before it count nobody as failed whom a person told to try again. */
  retriedCount = false;
  /** Drain timed out; tried again after all others. */
  readonly deferred: Map<string, string>;
  /** Held by a person; the view confirms it later. */
  readonly heldByUs: Map<string, string>;
  /** Held by us because somebody cancelled the update behind our back; to be written down. */
  readonly toHold: Set<string>;
  /** Those of which that is being written down. */
  readonly holding = new Set<string>();
  /** What a report or a person has said outlasts a view that is older. */
  saidOutlasts = true;
  /** The started config that this run wrote on the pool, '' = none; undefined = it wrote nothing. */
  startedWritten: string | undefined;
  isMarkingStart = false;
  /** What people have said and is not written yet. */
  readonly words = new AcceptedWords();
  /** It is being written on the pool that this rollout is not cancelled. */
  isForgetting = false;

  /** `resourceVersion` of the Nodes on which those holds are written; absent = not yet. */
  private readonly heldAt: Map<string, string>;
  private readonly ended: EndedUpdates;
  private readonly pauseWish: PauseWish;
  private expected: { readonly config: string; readonly until: number } | undefined;

  constructor(input: PoolRolloutInput) {
    const { carry } = input;
    super(carry);
    this.pool = input.pool;
    this.startedAt = carry?.startedAt ?? instant();
    this.updatedByUs = carry?.updatedByUs ?? 0;
    this.failed = byNode(carry?.failedReports ?? []);
    this.retry = new Set(carry?.retry);
    this.triedAgain = new Set(carry?.triedAgain);
    this.deferred = reasonsByNode(carry?.deferred);
    this.heldByUs = reasonsByNode(carry?.heldByUs);
    this.toHold = new Set(carry?.toHold);
    this.heldAt = writtenByNode(carry);
    this.pauseWish = new PauseWish(carry?.pause);
    this.asNewAs = carry?.asNewAs;
    this.ended = new EndedUpdates(carry);
  }

  // -- The view -------------------------------------------------------------------------------

  /** What the next look is to know; hand the same to `accept`. */
  seenSince(): readonly SeenNode[] {
    const left = [...this.broken].flatMap(([node, { leftAt: resourceVersion }]) =>
      resourceVersion === undefined ? [] : [{ node, resourceVersion }],
    );
    return [...left, ...this.ended.seenInService()];
  }

  /** Whether it shows a failure or a hold of before: what was said of that node since is not in it yet. */
  isOlderThanSaid(view: PoolLook): boolean {
    return (
      view.failed.some(({ node }) => this.failed.has(node) && !this.showsReport(view, node)) ||
      view.held.some(({ node }) => this.heldByUs.has(node) && !this.showsHold(view, node))
    );
  }

  /**
   * @param told - what the look knew of nodes that updates have ended with
   * @returns whether the pool is rolled to another config than before
   */
  accept(view: PoolLook, told: readonly SeenNode[] = []): boolean {
    const config = view.config?.name ?? '';
    const retargeted = config !== '' && config !== this.config;
    if (retargeted) this.retarget(config);
    this.view = view;
    for (const node of this.retry) if (this.hasFailed(node)) this.triedAgain.add(node);
    this.viewProblem = undefined;
    this.asNewAs = view.versions;
    this.forgetWhatTheViewShows(view);
    this.forgetSeen(view, told);
    return retargeted;
  }

  /**
   * A look has failed; until one succeeds nothing is decided. That one may be of any age: a cluster that was
   * restored from a backup counts its versions from before.
   */
  lookFailed(problem: string): void {
    this.viewProblem = problem;
    this.asNewAs = undefined;
  }

  /** Part of every question about the pool: nothing that was seen is ever seen undone. */
  age(): { readonly asNewAs?: PictureVersions } {
    return this.asNewAs === undefined ? {} : { asNewAs: this.asNewAs };
  }

  /** Somebody saw this config on the pool: look until the view has it, too. */
  expect(config: string): void {
    if (config !== this.config) this.expected = { config, until: Date.now() + LAG_MS };
    this.touch();
  }

  /** The view may not have caught up with what is known: look again soon. */
  isViewBehind(): boolean {
    return (
      this.ended.isAnyUnseen() ||
      this.pauseWish.carried !== undefined ||
      this.expected !== undefined
    );
  }

  paused(): Pause {
    return this.pauseWish.over(this.view);
  }

  /** Acts on a pause at once; the pool itself says so a moment later. */
  wishPaused(...wish: Parameters<PauseWish['say']>): void {
    this.pauseWish.say(...wish);
    this.touch();
  }

  pauseIsWritten(paused: boolean, reason: string): void {
    this.pauseWish.noteWritten(paused, reason);
  }

  /** What was said last cannot be written. */
  takePauseBack(): void {
    this.pauseWish.takeBack();
    this.touch();
  }

  /** The config that the pool says a person started; what was written counts while the view may be behind. */
  startedConfig(): string {
    return this.startedWritten ?? this.view?.startedConfig ?? '';
  }

  /** Must not be started now, although the view may call it a candidate. */
  isOutOfQuestion(node: string): boolean {
    if (this.children.has(node) || this.closing.has(node) || this.deferred.has(node)) return true;
    if (this.ended.isKnownOn(this.config, node)) return true;
    return this.isLeftOut(node);
  }

  /** Failed or held, also where that could not be written on its Node, which looks like a candidate. */
  isLeftOut(node: string): boolean {
    if (this.words.isToBeHeld(node)) return true;
    return !this.retry.has(node) && (this.failed.has(node) || this.heldByUs.has(node));
  }

  // -- The updates ----------------------------------------------------------------------------

  override start(node: string, config: string, uid?: string): void {
    super.start(node, config, uid, this.retry.has(node));
    this.failed.delete(node);
    this.ended.forget(node);
  }

  /**
   * A person said to try the node again: whatever kept it back is over.
   *
   * @param hadFailed - although neither a report nor a list says so
   */
  tryAgain(node: string, hadFailed = false): void {
    if (hadFailed || this.hasFailed(node)) this.triedAgain.add(node);
    else this.triedAgain.delete(node);
    this.forgetWords(node);
    this.retry.add(node);
    this.touch();
  }

  /**
   * Whether a person has asked for the node since, not knowing that this update had yet to end. It was not
   * begun for that, so its end is no answer.
   */
  isToBeTriedAfter({ node, outcome }: NodeReport): boolean {
    if (outcome === 'updated' || !this.retry.has(node)) return false;
    return this.children.get(node)?.isRetry !== true;
  }

  /** A report counts once, also from an update that this rollout did not know of. */
  finished(report: NodeReport): void {
    const { node } = report;
    const child = this.children.get(node);
    if (this.ended.isKnown(report)) {
      // Adopted after its report, and now it has ended.
      if (child !== undefined && !this.starting.has(node) && this.children.delete(node))
        this.hear();
      return;
    }
    this.children.delete(node);
    this.retry.delete(node);
    this.triedAgain.delete(node);
    this.orphanedSlots.delete(node);
    this.ended.note(report);
    this.closing.set(node, { report, until: Date.now() + LAG_MS });
    if (report.hostIsBack === false) this.leaveBroken(node, report.leftAt);
    if (report.config === this.config) this.count(report, child);
    this.hear();
  }

  /** @param resourceVersion - of the Node then; undefined = a worker of an earlier version has written it */
  holdIsWritten(node: string, resourceVersion: string | undefined): void {
    if (this.heldByUs.has(node)) this.heldAt.set(node, resourceVersion ?? ANY_VERSION);
  }

  get reports(): readonly NodeReport[] {
    return this.ended.reports;
  }

  /** Reports of nodes that were verified on the config since it is the target. */
  updatesToTarget(): readonly NodeReport[] {
    return this.ended.verifiedOn(this.config, this.startedAt);
  }

  hasEnded(runId: string | undefined): boolean {
    return this.ended.hasEnded(runId);
  }

  /** Nodes of which anything is remembered that counts. */
  remembered(): readonly RememberedNode[] {
    const failed = [...this.failed.values()].map(({ node, uid }) => ({
      node,
      ...(uid === undefined ? {} : { uid }),
    }));
    const others = [...this.deferred.keys(), ...this.retry, ...this.heldByUs.keys()];
    const all = [...others.map((node) => ({ node })), ...failed, ...this.rememberedNodes()];
    // The last one of a name knows most.
    return [...byNode(all).values()].filter(({ node }) => !this.isToldThat(node, true));
  }

  /** Whatever was remembered of a node that has left the pool is no news about the pool any more. */
  override departed(departed: DepartedNode): boolean {
    const { node } = departed;
    this.forgetWords(node);
    this.retry.delete(node);
    this.triedAgain.delete(node);
    this.ended.forget(node);
    return super.departed(departed);
  }

  // -- Time -----------------------------------------------------------------------------------

  /** Drops what was only remembered for a while. */
  expire(): void {
    const now = Date.now();
    this.ended.expire(now);
    this.expireUpdates(now);
    for (const [node, { finishedAt }] of this.failed) {
      if (Date.parse(finishedAt) + FAILED_UNSEEN_MS <= now) this.failed.delete(node);
    }
    if (this.expected !== undefined && this.expected.until <= now) this.expected = undefined;
    this.pauseWish.expire(now);
  }

  /** Milliseconds until something that is remembered expires; undefined = nothing does. */
  expiresInMs(): number | undefined {
    const closing = [...this.closing.values()].map(({ until }) => until);
    const broken = [...this.broken.values()].map(({ until }) => until);
    const ends = [...closing, ...this.orphanedSlots.values(), ...broken];
    return ends.length === 0 ? undefined : Math.max(1, Math.min(...ends) - Date.now());
  }

  carry(): PoolRolloutCarry {
    const { carried: pause } = this.pauseWish;
    return {
      ...this.carryUpdates(),
      ...this.ended.carry(),
      startedAt: this.startedAt,
      retry: [...this.retry],
      ...(this.triedAgain.size === 0 ? {} : { triedAgain: [...this.triedAgain] }),
      failedReports: [...this.failed.values()],
      updatedByUs: this.updatedByUs,
      deferred: withReasons(this.deferred),
      heldByUs: withReasons(this.heldByUs).map((hold) => ({
        ...hold,
        ...this.writtenAt(hold.node),
      })),
      toHold: [...this.toHold],
      ...(pause === undefined ? {} : { pause }),
      ...this.age(),
    };
  }

  private writtenAt(node: string): { readonly writtenAt?: string } {
    const writtenAt = this.heldAt.get(node);
    return writtenAt === undefined || writtenAt === ANY_VERSION ? {} : { writtenAt };
  }

  /** Why it was left out. */
  private forgetWords(node: string): void {
    for (const nodes of [this.failed, this.deferred, this.heldByUs, this.heldAt, this.toHold]) {
      nodes.delete(node);
    }
  }

  /** What a report on the present config means for what comes. */
  private count(report: NodeReport, child: ChildState | undefined): void {
    const { node, outcome, reason = outcome, failure } = report;
    if (outcome === 'updated') {
      if (!this.wasUpdatedBefore(report)) this.updatedByUs += 1;
      this.failed.delete(node);
      this.heldByUs.delete(node);
    } else if (outcome === 'failed') {
      // Its Node was written by the policy that the update had; that of the pool may be another by now.
      const later = failure === 'DrainTimedOut' && (report.isTriedAgain ?? this.drainIsRetried());
      if (later) this.deferred.set(node, `${reason}; tried again after the other nodes`);
      else this.failed.set(node, report);
    } else if (isWishOfPerson(report, child) && !this.ending) {
      this.heldByUs.set(node, 'its update was cancelled in Temporal');
      this.heldAt.delete(node);
      this.toHold.add(node);
    }
  }

  /** An older view may have had the node updated twice; it proves the config once. */
  private wasUpdatedBefore(report: NodeReport): boolean {
    return this.updatesToTarget().some((old) => old !== report && old.node === report.node);
  }

  /** For reports of earlier versions, which do not say it. */
  private drainIsRetried(): boolean {
    return this.view?.policy.drain.onTimeout !== 'Fail';
  }

  /** Whatever the view says of it is not the last word. */
  isBeingTried(node: string): boolean {
    if (this.retry.has(node) || this.children.has(node) || this.deferred.has(node)) return true;
    return this.ended.isKnownOn(this.config, node);
  }

  /** Against the config: who was never heard does not count. */
  private hasFailed(node: string): boolean {
    const { failed = [], unheard = [] } = this.view ?? {};
    if (unheard.includes(node)) return false;
    return this.failed.has(node) || failed.some((one) => one.node === node);
  }

  private retarget(config: string): void {
    if (this.config !== '') this.startedAt = instant();
    this.config = config;
    this.failed.clear();
    this.retry.clear();
    this.triedAgain.clear();
    this.deferred.clear();
    this.heldByUs.clear();
    this.heldAt.clear();
    this.toHold.clear();
    this.updatedByUs = 0;
  }

  private forgetWhatTheViewShows(view: PoolLook): void {
    const open = new Set(
      [...view.candidates, ...view.failed, ...view.held].map(({ node }) => node),
    );
    const unavailable = new Set([...view.unavailable, ...(view.outdated ?? [])]);
    const stillBroken = new Set(settleBroken([...this.broken.keys()], view.unavailable));
    for (const node of this.broken.keys()) if (!stillBroken.has(node)) this.broken.delete(node);
    this.ended.forgetUnless(
      (node) =>
        unavailable.has(node) || (this.ended.isKnownOn(this.config, node) && open.has(node)),
    );
    for (const { node } of view.failed) {
      if (!this.saidOutlasts || this.showsReport(view, node)) this.failed.delete(node);
    }
    for (const { node } of view.held) {
      if (this.saidOutlasts && !this.showsHold(view, node)) continue;
      this.heldByUs.delete(node);
      this.heldAt.delete(node);
    }
    this.pauseWish.forgetIfShown(view);
    if (this.expected?.config === this.config) this.expected = undefined;
    this.expire();
  }

  /** A report that does not say how its node was left counts until it expires. */
  private showsReport(view: PoolLook, node: string): boolean {
    const { inServiceAt, leftAt } = this.failed.get(node) ?? {};
    return isAsNewAs(view, node, inServiceAt ?? leftAt);
  }

  private showsHold(view: PoolLook, node: string): boolean {
    return isAsNewAs(view, node, this.heldAt.get(node));
  }

  /** A view that is as new as the end of an update says itself how its node is. */
  private forgetSeen(view: PoolLook, told: readonly SeenNode[]): void {
    const outdated = new Set(view.outdated);
    for (const seen of told) {
      const { node, resourceVersion } = seen;
      if (outdated.has(node)) continue;
      this.ended.forgetSeen(seen);
      if (this.broken.get(node)?.leftAt === resourceVersion) this.broken.delete(node);
    }
  }
}

/** @param version - of the Node when it was written; undefined = not written yet, or not known */
function isAsNewAs(view: PoolLook, node: string, version: string | undefined): boolean {
  if (version === undefined || view.outdated.includes(node)) return false;
  return view.versions === undefined || view.versions.nodes >= Number(version);
}

/** A run of an earlier version carries no versions: any look may show what it has written. */
function writtenByNode(carry: PoolRolloutCarry | undefined): Map<string, string> {
  const unwritten = new Set(carry?.toHold);
  const written = new Map<string, string>();
  for (const { node, writtenAt } of carry?.heldByUs ?? []) {
    const version = writtenAt ?? (unwritten.has(node) ? undefined : ANY_VERSION);
    if (version !== undefined) written.set(node, version);
  }
  return written;
}

/** Somebody has cancelled the update in Temporal: neither it nor a rollout of it has done so. */
function isWishOfPerson(report: NodeReport, child: ChildState | undefined): boolean {
  const { failure, stoppedByRollout } = report;
  return failure === undefined && stoppedByRollout !== true && child?.cancelling === undefined;
}
