/**
 * The node updates that a rollout has started or adopted, and the slots that they hold. A slot that
 * was given counts until its update has reported, whatever the view of the cluster shows.
 */

import type { ChildState, NodeReport, PoolRolloutCarry, Prepared } from './messages';

/** As long as a report is newer than the view, and as an update takes to close after it. */
export const LAG_MS = 5_000;
/** As long as a cordon of an update that was terminated may still arrive. */
const ORPHANED_SLOT_MS = 60_000;

/** A report that the view may not reflect yet, or whose workflow may not be closed yet. */
export interface Settled {
  readonly report: NodeReport;
  readonly until: number;
}

export class UpdatesUnderWay {
  /** Grows with everything that may change a decision. */
  changes = 0;
  lastHeard = Date.now();
  /** Name of the config that the pool is rolled to; '' until the first look. */
  config: string;
  /** Set when the rollout ends before its time, with the reason. */
  ending: string | undefined;
  readonly children: Map<string, ChildState>;
  /** Updates whose start Temporal has not confirmed yet. */
  readonly starting = new Set<string>();
  /** Messages to updates that Temporal has not confirmed yet. */
  sending = 0;

  protected readonly orphanedSlots: Map<string, number>;
  /** Reported, but the workflow is not closed yet: its ID is taken until then. */
  protected readonly closing = new Map<string, Settled>();
  /** Run IDs of the updates that this run of the rollout started itself. */
  private readonly runs = new Map<string, string>();

  constructor(carry: PoolRolloutCarry | undefined) {
    this.config = carry?.config ?? '';
    this.children = byNode(carry?.children ?? []);
    this.orphanedSlots = new Map(
      (carry?.orphanedSlots ?? []).map(({ node, until }) => [node, Date.parse(until)]),
    );
  }

  touch(): void {
    this.changes += 1;
  }

  /** Nodes that hold a slot, also those whose update ended without a report. */
  holders(): readonly string[] {
    const holding = [...this.children.values()].filter(({ holdsSlot }) => holdsSlot);
    return [...new Set([...holding.map(({ node }) => node), ...this.orphanedSlots.keys()])];
  }

  hasOrphanedSlot(node: string): boolean {
    return this.orphanedSlots.has(node);
  }

  start(node: string, config: string): void {
    // An orphaned slot goes to the update that takes its node up again.
    const holdsSlot = this.orphanedSlots.delete(node);
    this.children.set(node, { node, config, stage: 'preparing', holdsSlot, since: instant() });
    this.starting.add(node);
  }

  started(node: string, runId: string): void {
    this.starting.delete(node);
    this.runs.set(node, runId);
    const isWanted = this.children.get(node)?.config === this.config && this.ending === undefined;
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
      adopting: true,
    });
    this.touch();
  }

  prepared({ node, config, holdsSlot, stage }: Prepared): void {
    const child = this.children.get(node);
    const ours = child?.adopting !== true && child?.holdsSlot === true;
    const reached = stage ?? (holdsSlot ? 'working' : 'waiting');
    // Said before it got its slot; said again much later, the slot did not arrive.
    const crossed = ours && child.stage === 'working' && !holdsSlot;
    if (crossed && Date.now() - Date.parse(child.since) < ORPHANED_SLOT_MS) return;
    this.children.set(node, {
      node,
      config,
      stage: reached,
      holdsSlot: holdsSlot || ours,
      since: instant(),
      ...(child?.cancelling === undefined ? {} : { cancelling: child.cancelling }),
    });
    this.hear();
  }

  grant(node: string): void {
    const child = this.children.get(node);
    if (child === undefined) return;
    this.children.set(node, { ...child, stage: 'working', holdsSlot: true, since: instant() });
  }

  cancelling(node: string, why: NonNullable<ChildState['cancelling']>): void {
    const child = this.children.get(node);
    if (child !== undefined) this.children.set(node, { ...child, cancelling: why });
    this.touch();
  }

  /** The workflow of an update is closed. Without a report before, it was ended from outside. */
  closed(node: string, runId: string): void {
    if (this.runs.get(node) !== runId) return;
    this.runs.delete(node);
    const report = this.closing.get(node)?.report;
    this.closing.delete(node);
    // Whoever is not done yet may start again from now on.
    if (report?.outcome !== 'updated' || report.config !== this.config) this.touch();
    if (this.children.has(node)) this.vanished(node);
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

  /** The end of an update that this run started will be an event in this very history. */
  isClosing(): boolean {
    return [...this.closing.keys()].some((node) => this.runs.has(node));
  }

  protected hear(): void {
    this.lastHeard = Date.now();
    this.touch();
  }

  protected expireUpdates(now: number): void {
    for (const [node, { until }] of this.closing) if (until <= now) this.closing.delete(node);
    for (const [node, until] of this.orphanedSlots) {
      if (until <= now) this.orphanedSlots.delete(node);
    }
  }

  protected carryUpdates(): Pick<PoolRolloutCarry, 'config' | 'children' | 'orphanedSlots'> {
    const orphans = [...this.orphanedSlots];
    return {
      config: this.config,
      children: [...this.children.values()],
      orphanedSlots: orphans.map(([node, until]) => ({
        node,
        until: new Date(until).toISOString(),
      })),
    };
  }
}

/** RFC 3339. */
export function instant(inMs = 0): string {
  return new Date(Date.now() + inMs).toISOString();
}

export function byNode<T extends { readonly node: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.node, item]));
}
