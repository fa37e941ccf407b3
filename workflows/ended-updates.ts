/**
 * The updates of a rollout that have ended: their last reports, and what these prove while the view is
 * older than they are.
 */

import type { SeenNode } from './contracts/cluster';
import { byNode, instantsByNode, withInstants } from './carried';
import type { NodeReport, PoolRolloutCarry } from './messages';
import { LAG_MS, type Settled } from './updates-under-way';

const REPORTS_KEPT = 200;

export class EndedUpdates {
  private kept: readonly NodeReport[];
  /** Verified on a config, while the view may show the node as it was before. */
  private readonly settled = new Map<string, Settled>();
  /** Seen in service at the end of an update, while the view is older. */
  private readonly inService = new Map<
    string,
    { readonly seen: SeenNode; readonly until: number }
  >();

  constructor(carry: PoolRolloutCarry | undefined) {
    this.kept = carry?.finished ?? [];
    const lastReports = byNode(this.kept);
    for (const [node, until] of instantsByNode(carry?.settled)) {
      const report = lastReports.get(node);
      if (report !== undefined) this.settled.set(node, { report, until });
    }
  }

  /** The last ones, oldest first. */
  get reports(): readonly NodeReport[] {
    return this.kept;
  }

  /** A report may come twice: by its own message, and with the end of the workflow. */
  isKnown({ node, finishedAt }: NodeReport): boolean {
    return this.kept.some((old) => old.node === node && old.finishedAt === finishedAt);
  }

  /** Whether that run of an update has reported its end, as far as anybody remembers. */
  hasEnded(runId: string): boolean {
    return this.kept.some((report) => report.runId === runId);
  }

  /**
   * Reports of nodes that were verified on the config since then: one from before a detour over another
   * config proves nothing, the node may be on that other one now.
   */
  verifiedOn(config: string, since: string): readonly NodeReport[] {
    const earliest = Date.parse(since);
    return this.kept.filter(
      ({ outcome, config: its, finishedAt }) =>
        outcome === 'updated' && its === config && Date.parse(finishedAt) >= earliest,
    );
  }

  note(report: NodeReport): void {
    const { node, inServiceAt: resourceVersion } = report;
    const until = Date.now() + LAG_MS;
    this.kept = [...this.kept, report].slice(-REPORTS_KEPT);
    if (report.outcome === 'updated') this.settled.set(node, { report, until });
    if (resourceVersion !== undefined) {
      this.inService.set(node, { seen: { node, resourceVersion }, until });
    }
  }

  // -- What the view may not show yet ---------------------------------------------------------

  isAnyUnseen(): boolean {
    return this.settled.size > 0 || this.inService.size > 0;
  }

  isKnownOn(config: string, node: string): boolean {
    const report = this.settled.get(node)?.report;
    return report?.outcome === 'updated' && report.config === config;
  }

  seenInService(): readonly SeenNode[] {
    return [...this.inService.values()].map(({ seen }) => seen);
  }

  /** The view is as new as what was seen of the node then, so it says itself how the node is. */
  forgetSeen(seen: SeenNode): void {
    if (this.inService.get(seen.node)?.seen === seen) this.inService.delete(seen.node);
  }

  /** @param isBehind - whether the view shows the node as it was before that end */
  forgetUnless(isBehind: (node: string) => boolean): void {
    for (const node of this.settled.keys()) if (!isBehind(node)) this.settled.delete(node);
  }

  /** Whatever comes of the node is newer; its report is kept. */
  forget(node: string): void {
    this.settled.delete(node);
    this.inService.delete(node);
  }

  expire(now: number): void {
    for (const remembered of [this.settled, this.inService]) {
      for (const [node, { until }] of remembered) if (until <= now) remembered.delete(node);
    }
  }

  carry(): Pick<PoolRolloutCarry, 'finished' | 'settled'> {
    const until = new Map([...this.settled].map(([node, settled]) => [node, settled.until]));
    return { finished: this.kept, settled: withInstants(until) };
  }
}
