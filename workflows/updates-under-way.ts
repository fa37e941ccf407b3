/**
 * The node updates that a rollout has started or adopted, and the slots that they hold. A slot that
 * was given counts until its update has reported, whatever the view of the cluster shows.
 */

import type { DepartedNode, RememberedNode } from './contracts/cluster';
import {
  brokenByNode,
  byNode,
  instant,
  instantsByNode,
  withBroken,
  withInstants,
  type LeftBroken,
} from './carried';
import type { ChildState, NodeReport, PoolRolloutCarry, Prepared } from './messages';

/** As long as a report is newer than the view, and as an update takes to close after it. */
export const LAG_MS = 5_000;
/** Silence after which it is checked whether an update still runs. */
export const SILENCE_MS = 60_000;
/** As long as a cordon of an update that was terminated may still arrive. */
const ORPHANED_SLOT_MS = 60_000;
/** As long as the view may take to show a node out of service; a node that is gone it never shows. */
const BROKEN_UNSEEN_MS = 300_000;

/** A report that the view may not reflect yet, or whose workflow may not be closed yet. */
export interface Settled {
  readonly report: NodeReport;
  readonly until: number;
}

export class UpdatesUnderWay {
  /** Grows with everything that may change a decision. */
  changes = 0;
  /** When an update was last heard of, or it was last asked for them all in a long silence. */
  lastHeard = Date.now();
  /** When an update was last heard of. */
  lastNews = Date.now();
  /** When it was last checked which updates still run; other reports do not count. */
  lastChecked: number;
  /** Whether that is being asked of Temporal. */
  isAskingSilent = false;
  /** Name of the config that the pool is rolled to; '' until the first look. */
  config: string;
  /** Set when the rollout ends before its time, with the reason. */
  ending: string | undefined;
  readonly children: Map<string, ChildState>;
  /** Whether all updates are known that ran before this rollout began; no slot is given before. */
  knows: 'nothing' | 'asking' | 'all';
  /** Why that is not known. */
  unknownBecause: string | undefined;
  /** Updates whose start Temporal has not confirmed yet. */
  readonly starting = new Set<string>();
  /** Messages to updates that Temporal has not confirmed yet. */
  telling = 0;
  /** What is written in the cluster, or asked of Temporal, and told to no update. */
  writingAside = 0;
  /** Whose writing it waits for; completes "waiting for …". */
  writing: string | undefined;
  /** How often this run could not go on in a new history, because something was half said. */
  handOversFailed = 0;
  /** Until it goes on in a new history no update is started and no slot given, except for who has begun. */
  saysNothingNew = false;

  protected readonly orphanedSlots: Map<string, number>;
  /** Left out of service; counts although the view does not show it. */
  protected readonly broken: Map<string, LeftBroken>;
  /** Reported, but the workflow is not closed yet: its ID is taken until then. */
  protected readonly closing = new Map<string, Settled>();
  /** Run IDs of the updates that this run of the rollout started itself. */
  private readonly runs = new Map<string, string>();
  /** How many updates of a node this run has started or met. */
  private readonly lives = new Map<string, number>();

  constructor(carry: PoolRolloutCarry | undefined) {
    this.config = carry?.config ?? '';
    this.knows = carry === undefined || carry.unlearned === true ? 'nothing' : 'all';
    this.children = byNode(carry?.children ?? []);
    this.lastChecked = carry?.checkedAt === undefined ? Date.now() : Date.parse(carry.checkedAt);
    this.orphanedSlots = instantsByNode(carry?.orphanedSlots);
    this.broken = brokenByNode(carry?.broken);
  }

  touch(): void {
    this.changes += 1;
  }

  /** Something that was said or written is not confirmed: it would be lost with this run. */
  get isSaying(): boolean {
    return this.telling > 0 || this.writingAside > 0;
  }

  /** Nodes that hold a slot, also those whose update ended without a report or left them broken. */
  holders(): readonly string[] {
    const holding = [...this.children.values()].filter(({ holdsSlot }) => holdsSlot);
    const left = [...this.orphanedSlots.keys(), ...this.broken.keys()];
    return [...new Set([...holding.map(({ node }) => node), ...left])];
  }

  /**
   * Nodes that are disturbed for this config now. One whose update vanished may be half done; of which
   * config is not remembered for the minute that its slot counts.
   */
  tryingNodes(config: string): readonly string[] {
    const holding = [...this.children.values()].filter(
      (child) => child.holdsSlot && this.mayTry(child, config) && !isHeir(child),
    );
    return [...new Set([...holding.map(({ node }) => node), ...this.orphanedSlots.keys()])];
  }

  /** Updates that ran already, and have yet to say how far they are. */
  unanswered(): readonly ChildState[] {
    return [...this.children.values()].filter(({ adopting }) => adopting === true);
  }

  /** Until an update that ran already has answered, its config is a guess. */
  private mayTry(child: ChildState, config: string): boolean {
    return child.config === config || child.adopting === true;
  }

  /** Nodes that have taken over the slot of a lost update, and were not told to use it for this config. */
  heirs(config: string): readonly string[] {
    const heirs = [...this.children.values()].filter(
      (child) => child.config === config && isHeir(child),
    );
    return heirs.map(({ node }) => node);
  }

  /** @param problem - why it could not be found out; asked again later */
  learned(problem?: string): void {
    if (problem === undefined) this.knows = 'all';
    this.unknownBecause = problem;
    this.touch();
  }

  hasOrphanedSlot(node: string): boolean {
    return this.orphanedSlots.has(node) || this.broken.has(node);
  }

  /** @param retry - whether a person had said to try the node again */
  start(node: string, config: string, uid?: string, retry = false): void {
    // A slot that was left behind goes to the update that takes its node up again.
    const isBroken = this.broken.delete(node);
    const holdsSlot = this.orphanedSlots.delete(node) || isBroken;
    this.children.set(node, {
      ...{ node, config, stage: 'preparing', holdsSlot, since: instant() },
      ...(uid === undefined ? {} : { uid }),
      ...(retry ? { isRetry: true as const } : {}),
    });
    this.starting.add(node);
    this.begin(node);
  }

  started(node: string, runId: string): void {
    this.starting.delete(node);
    this.runs.set(node, runId);
    const child = this.children.get(node);
    if (child !== undefined) this.children.set(node, { ...child, runId });
    const isWanted = child?.config === this.config && this.ending === undefined;
    if (!isWanted) this.touch();
  }

  /** An update that ran already; it holds a slot until it says otherwise. */
  adopt(node: string): void {
    const child = this.children.get(node);
    this.starting.delete(node);
    this.children.set(node, {
      node,
      config: child?.config ?? this.config,
      stage: 'preparing',
      holdsSlot: true,
      since: instant(),
      ...(child?.uid === undefined ? {} : { uid: child.uid }),
      adopting: true,
    });
    this.begin(node);
    this.touch();
  }

  /** Tells one update of a node from the next. */
  lifeOf(node: string): number {
    return this.lives.get(node) ?? 0;
  }

  private begin(node: string): void {
    this.lives.set(node, this.lifeOf(node) + 1);
  }

  prepared(said: Prepared): void {
    const { node, config, holdsSlot, stage, returned, uid, runId } = said;
    const child = this.children.get(node);
    // It holds no slot of this pool any more, whatever it says.
    if (isDeparting(child)) return;
    const isOfEarlier = this.isReturnOfEarlier(said);
    const isReturn = returned === true && !isOfEarlier;
    const ours = !isReturn && child?.adopting !== true && child?.holdsSlot === true;
    // Said before it got its slot; said again much later, the slot did not arrive.
    const crossed = ours && child.stage === 'working' && !holdsSlot;
    if (crossed && (isOfEarlier || Date.now() - Date.parse(child.since) < ORPHANED_SLOT_MS)) return;
    this.children.set(node, {
      node,
      config,
      stage,
      holdsSlot: holdsSlot || ours,
      since: instant(),
      ...(child?.cancelling === undefined ? {} : { cancelling: child.cancelling }),
      ...(child?.stoppedBefore === true ? { stoppedBefore: true } : {}),
      runId,
      ...(uid === undefined ? {} : { uid }),
      ...(child?.isRetry === true || said.triedAgain === true ? { isRetry: true } : {}),
      ...(ours && child.grantedAt !== undefined ? { grantedAt: child.grantedAt } : {}),
    });
    this.hear();
  }

  /**
   * Said on the way, while this rollout has given it another slot, which it uses as soon as it hears of it: it was
   * returned to a rollout before.
   */
  private isReturnOfEarlier({ node, returned, grantedAt }: Prepared): boolean {
    const given = this.children.get(node)?.grantedAt;
    if (returned !== true || grantedAt === undefined || given === undefined) return false;
    return grantedAt !== given;
  }

  /** @returns when, which tells the slot from the next one of the same node */
  grant(node: string): string {
    const child = this.children.get(node);
    const grantedAt = instant();
    const given = { stage: 'working', holdsSlot: true, since: grantedAt, grantedAt } as const;
    if (child !== undefined) this.children.set(node, { ...child, ...given });
    return grantedAt;
  }

  /** Updates whose end nobody tells this run: adopted ones and those of an earlier run. */
  unwatched(): readonly ChildState[] {
    return [...this.children.values()].filter(
      ({ node }) => !this.runs.has(node) && !this.starting.has(node),
    );
  }

  cancelling(node: string, why: NonNullable<ChildState['cancelling']>): void {
    const child = this.children.get(node);
    if (child !== undefined) this.children.set(node, { ...child, cancelling: why });
    this.touch();
  }

  /**
   * The node is no member of the pool any more: nothing of it takes a slot from now on, also while its
   * update still has to end.
   *
   * @returns false when that was known already
   */
  departed({ node, deleted, reason }: DepartedNode): boolean {
    if (this.isToldThat(node, deleted)) return false;
    const child = this.children.get(node);
    const cancelling = { why: deleted ? ('deleted' as const) : ('moved' as const), reason };
    if (child !== undefined) this.children.set(node, { ...child, holdsSlot: false, cancelling });
    this.orphanedSlots.delete(node);
    this.broken.delete(node);
    this.touch();
    return true;
  }

  /** Its node has left, and its update was told so: there is nothing more to be told. */
  protected isToldThat(node: string, deleted: boolean): boolean {
    const why = this.children.get(node)?.cancelling?.why;
    return why === 'deleted' || (why === 'moved' && !deleted);
  }

  /** What the next look at the pool is asked about. */
  protected rememberedNodes(): readonly RememberedNode[] {
    const slots = [...this.orphanedSlots.keys(), ...this.broken.keys()];
    return [
      ...[...this.children.values()].map(({ node, uid, cancelling }) => ({
        node,
        ...(uid === undefined ? {} : { uid }),
        ...(cancelling?.why === 'moved' ? { moved: true as const } : {}),
      })),
      ...slots.map((node) => ({ node })),
    ];
  }

  /**
   * The workflow of an update is closed. Without a report before, it was ended from outside.
   *
   * @param isFollowed - the next update of the node has begun: this is not its end
   */
  closed(node: string, runId: string, isFollowed = false): void {
    if (this.runs.get(node) !== runId) return;
    this.runs.delete(node);
    const report = this.closing.get(node)?.report;
    this.closing.delete(node);
    // Whoever is not done yet may start again from now on.
    if (report?.outcome !== 'updated' || report.config !== this.config) this.touch();
    if (!isFollowed && this.children.has(node)) this.vanished(node);
  }

  /** An update ended without a report: its slot counts until nothing of it can arrive any more. */
  vanished(node: string): void {
    const child = this.children.get(node);
    if (child === undefined) return;
    this.children.delete(node);
    this.starting.delete(node);
    if (child.holdsSlot && child.adopting !== true) {
      this.orphanedSlots.set(node, Date.now() + ORPHANED_SLOT_MS);
    }
    this.touch();
  }

  /** Its update has told how it ended, and the next one has not begun. */
  hasReported(node: string): boolean {
    return this.closing.has(node) && !this.children.has(node);
  }

  /** The end of an update that this run started will be an event in this very history. */
  isClosing(): boolean {
    return [...this.closing.keys()].some((node) => this.runs.has(node));
  }

  protected hear(): void {
    this.lastHeard = Date.now();
    this.lastNews = this.lastHeard;
    this.touch();
  }

  protected expireUpdates(now: number): void {
    for (const [node, { until }] of this.closing) if (until <= now) this.closing.delete(node);
    for (const [node, until] of this.orphanedSlots) {
      if (until <= now) this.orphanedSlots.delete(node);
    }
    for (const [node, { until }] of this.broken) if (until <= now) this.broken.delete(node);
  }

  /** The node of this update is out of service; the view shows it in a moment. */
  protected leaveBroken(node: string, leftAt?: string): void {
    const until = Date.now() + BROKEN_UNSEEN_MS;
    this.broken.set(node, { until, ...(leftAt === undefined ? {} : { leftAt }) });
  }

  protected carryUpdates(): Pick<
    PoolRolloutCarry,
    'config' | 'children' | 'orphanedSlots' | 'broken' | 'checkedAt' | 'unlearned'
  > {
    return {
      ...(this.knows === 'all' ? {} : { unlearned: true as const }),
      config: this.config,
      children: [...this.children.values()],
      orphanedSlots: withInstants(this.orphanedSlots),
      broken: withBroken(this.broken),
      checkedAt: new Date(this.lastChecked).toISOString(),
    };
  }
}

/** It has a slot, and was not given it: one that is being adopted may use what it has. */
function isHeir({ holdsSlot, stage, adopting }: ChildState): boolean {
  return holdsSlot && stage !== 'working' && adopting !== true;
}

/** Its node has left the pool, and it was told so. */
function isDeparting(child: ChildState | undefined): boolean {
  const why = child?.cancelling?.why;
  return why === 'deleted' || why === 'moved';
}
