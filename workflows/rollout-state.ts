/**
 * What a rollout remembers between two looks at its pool. Bookkeeping only: what the view shows, and
 * what it cannot show yet. Which updates run is in `updates-under-way.ts`, which have ended in
 * `ended-updates.ts`, what is said of whom in `said-of-nodes.ts`, the decisions in
 * `rollout-decisions.ts` and in `core/rollout`, what it says of itself in `rollout-progress.ts`.
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
} from './contracts/cluster';
import { byNode, instant } from './carried';
import { EndedUpdates } from './ended-updates';
import { HalfDoneNodes } from './half-done-nodes';
import type {
  ChildState,
  NodeReport,
  PoolRolloutCarry,
  PoolRolloutInput,
  Prepared,
} from './messages';
import { PauseWish, type Pause } from './pause-wish';
import { PictureAge } from './picture-age';
import { SaidOfNodes } from './said-of-nodes';
import { StartMark } from './start-mark';
import { LAG_MS } from './updates-under-way';

export class Rollout extends SaidOfNodes {
  readonly pool: string;
  startedAt: string;
  view: PoolLook | undefined;
  readonly pictureAge: PictureAge;
  /** Why the last look failed. */
  viewProblem: string | undefined;
  updatedByUs: number;
  readonly startMark = new StartMark();
  readonly halfDone = new HalfDoneNodes();
  /** It is being written on the pool that this rollout is not cancelled. */
  isForgetting = false;

  private readonly ended: EndedUpdates;
  private readonly pauseWish: PauseWish;
  private expected: { readonly config: string; readonly until: number } | undefined;

  constructor(input: PoolRolloutInput) {
    const { carry } = input;
    super(carry);
    this.pool = input.pool;
    this.startedAt = carry?.startedAt ?? instant();
    this.updatedByUs = carry?.updatedByUs ?? 0;
    this.pauseWish = new PauseWish(carry?.pause);
    this.pictureAge = new PictureAge(carry);
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
    this.pictureAge.lookSucceeded(view.versions);
    this.forgetWhatTheViewShows(view);
    this.forgetSeen(view, told);
    return retargeted;
  }

  /**
   * A look has failed; until one succeeds nothing is decided.
   *
   * @param isBehind - it was made from an older picture than those before
   */
  lookFailed(problem: string, isBehind = false): void {
    this.viewProblem = problem;
    if (isBehind) this.pictureAge.lookWasBehind();
  }

  /** Part of every question on the way: nothing that was seen is ever seen undone. */
  age(): { readonly asNewAs?: PictureVersions } {
    return this.pictureAge.asBefore();
  }

  /** @param versions - of a picture in which somebody saw why; undefined = they do not say */
  lookAgain(versions?: PictureVersions): void {
    if (versions !== undefined) this.pictureAge.hear(versions);
    this.touch();
  }

  /** Somebody saw this config on the pool: look until the view has it, too. */
  expect(config: string, versions?: PictureVersions): void {
    if (config !== this.config) this.expected = { config, until: Date.now() + LAG_MS };
    this.lookAgain(versions);
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

  /** Must not be started now, although the view may call it a candidate. */
  isOutOfQuestion(node: string): boolean {
    if (this.children.has(node) || this.closing.has(node) || this.deferred.has(node)) return true;
    if (this.ended.isKnownOn(this.config, node) || this.words.isBeingRetried(node)) return true;
    return this.isLeftOut(node);
  }

  // -- The updates ----------------------------------------------------------------------------

  override start(node: string, config: string, uid?: string): void {
    super.start(node, config, uid, this.retry.has(node));
    this.failed.delete(node);
    this.ended.forget(node);
  }

  /** Its update was told to stop when its node left the pool; until it says how far it is, it holds a slot. */
  backInPool(node: string): void {
    const child = this.children.get(node);
    if (child === undefined) return;
    const { config, uid, runId } = child;
    this.children.set(node, {
      ...{ node, config, stage: 'preparing', holdsSlot: true, since: instant() },
      ...(uid === undefined ? {} : { uid }),
      ...(runId === undefined ? {} : { runId }),
      ...{ adopting: true, stoppedBefore: true },
    });
    this.touch();
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
   * One that a rollout before this one has started may try a node again that had failed: whether it does, only that
   * rollout has heard from the person.
   */
  override prepared(said: Prepared): void {
    const { node, config, triedAgain } = said;
    const isMet = this.children.get(node)?.adopting === true;
    super.prepared(said);
    if (!isMet || triedAgain !== true || config !== this.config) return;
    this.retry.add(node);
    this.triedAgain.add(node);
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
    this.forgetRetry(node);
    this.orphanedSlots.delete(node);
    this.ended.note(report);
    this.closing.set(node, { report, until: Date.now() + LAG_MS });
    if (report.hostIsBack === false) this.leaveBroken(node, report.leftAt);
    if (report.config === this.config) this.count(report, child);
    this.hear();
  }

  get reports(): readonly NodeReport[] {
    return this.ended.reports;
  }

  /** Reports of nodes that were verified on the config since it is the target. */
  updatesToTarget(): readonly NodeReport[] {
    return this.ended.verifiedOn(this.config, this.startedAt);
  }

  hasEnded(runId: string): boolean {
    return this.ended.hasEnded(runId);
  }

  /** Nodes of which anything is remembered that counts. */
  remembered(): readonly RememberedNode[] {
    const all = [...this.rememberedSaid(), ...this.rememberedNodes()];
    // The last one of a name knows most.
    return [...byNode(all).values()].filter(({ node }) => !this.isToldThat(node, true));
  }

  /** Whatever was remembered of a node that has left the pool is no news about the pool any more. */
  override departed(departed: DepartedNode): boolean {
    const { node } = departed;
    this.forgetWords(node);
    this.forgetRetry(node);
    this.ended.forget(node);
    return super.departed(departed);
  }

  // -- Time -----------------------------------------------------------------------------------

  /** Drops what was only remembered for a while. */
  expire(): void {
    const now = Date.now();
    this.ended.expire(now);
    this.expireUpdates(now);
    this.expireSaid(now);
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
      ...this.carrySaid(),
      startedAt: this.startedAt,
      updatedByUs: this.updatedByUs,
      ...(pause === undefined ? {} : { pause }),
      ...this.pictureAge.carry(),
    };
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
      const later = failure === 'DrainTimedOut' && report.isTriedAgain === true;
      if (later) this.deferred.set(node, `${reason}; tried again after the other nodes`);
      else this.failed.set(node, report);
    } else if (isWishOfPerson(report, child) && !this.ending) {
      this.holdUnwritten(node, 'its update was cancelled in Temporal');
    }
  }

  /** An older view may have had the node updated twice; it proves the config once. */
  private wasUpdatedBefore(report: NodeReport): boolean {
    return this.updatesToTarget().some((old) => old !== report && old.node === report.node);
  }

  /** Whatever the view says of it is not the last word. */
  isBeingTried(node: string): boolean {
    if (this.retry.has(node) || this.children.has(node) || this.deferred.has(node)) return true;
    return this.ended.isKnownOn(this.config, node);
  }

  /** Against the config: who was never heard does not count. */
  private hasFailed(node: string): boolean {
    const { failed = [], unheard = [], failedInFlight = [] } = this.view ?? {};
    if (unheard.includes(node)) return false;
    const shown = [...failed, ...failedInFlight];
    return this.failed.has(node) || shown.some((one) => one.node === node);
  }

  private retarget(config: string): void {
    const isFirst = this.config === '';
    if (!isFirst) this.startedAt = instant();
    this.config = config;
    this.forgetAllSaid();
    this.updatedByUs = 0;
    if (isFirst) this.countEarly();
  }

  /** Reports that came while nobody knew which config they had to be of. */
  private countEarly(): void {
    for (const report of this.reports) {
      if (report.config === this.config) this.count(report, undefined);
    }
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
    this.forgetSaidThatIsShown(view);
    this.pauseWish.forgetIfShown(view);
    if (this.expected?.config === this.config) this.expected = undefined;
    this.expire();
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

/** Somebody has cancelled the update in Temporal: neither it nor a rollout of it has done so. */
function isWishOfPerson(report: NodeReport, child: ChildState | undefined): boolean {
  if (report.failure !== undefined || report.stoppedByRollout === true) return false;
  return child?.cancelling === undefined && child?.stoppedBefore !== true;
}
