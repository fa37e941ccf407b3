/** What a node update knows about itself: its phase, how long each took, and what it waits for. */

import { log, metricMeter, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { mayFollow, NodePhase } from '../../core/node/lifecycle';
import type { UpdatePlan } from '../../core/node/plan-types';
import type { Failure } from '../contracts/failures';
import {
  statusQuery,
  type NodeReport,
  type NodeStatus,
  type NodeUpdateInput,
  type UpdateOutcome,
} from '../contracts/update';

const REASON_AT_MOST = 1000;

/** Its buckets are those of the process, see `process/temporal/runtime.ts`. */
const PHASE_METRIC = 'slipway_node_phase_duration_seconds';

/** The end of an update. */
export interface Ending {
  readonly outcome: UpdateOutcome;
  /** Absent = updated. */
  readonly failure?: Failure;
  /** Phase in which it failed or was cancelled. */
  readonly phase?: NodePhase;
}

const END = {
  updated: NodePhase.UPDATED,
  failed: NodePhase.DEGRADED,
  cancelled: NodePhase.CANCELLED,
} as const satisfies Record<UpdateOutcome, NodePhase>;

/** Bookkeeping of one node update. Decides nothing. */
export class NodeProgress {
  phase: NodePhase = 'Preparing';
  blocker: string | undefined;
  plan: UpdatePlan | undefined;
  pastPointOfNoReturn = false;
  private readonly startedAt = now();
  private since = this.startedAt;
  /** Recorded once: a replay records nothing. */
  private readonly metric = metricMeter.createHistogram(PHASE_METRIC, 'float', 's');
  private readonly durations: { readonly phase: NodePhase; readonly seconds: number }[] = [];

  constructor(private readonly input: NodeUpdateInput) {
    setHandler(statusQuery, () => this.status(), {
      description: 'Phase of this update, since when, and what it waits for',
    });
    this.describe();
  }

  /** Runs one phase. What it waits for, if anything, is shown meanwhile. */
  async during<T>(phase: NodePhase, work: () => Promise<T>, blocker?: string): Promise<T> {
    this.enter(phase, blocker);
    return work();
  }

  enter(phase: NodePhase, blocker?: string): void {
    if (phase !== this.phase) this.closePhase(phase);
    this.phase = phase;
    this.blocker = blocker;
    this.describe();
  }

  status(): NodeStatus {
    const { node, pool, config } = this.input;
    return {
      node,
      pool,
      config: config.name,
      phase: this.phase,
      since: this.since,
      ...(this.plan === undefined ? {} : { summary: this.plan.summary }),
      ...(this.blocker === undefined ? {} : { blocker: this.blocker }),
      pastPointOfNoReturn: this.pastPointOfNoReturn,
    };
  }

  /** Makes no phase of its own. */
  report(ending: Ending): NodeReport {
    const { failure, phase, outcome } = ending;
    return {
      node: this.input.node,
      config: this.input.config.name,
      outcome,
      ...(phase === undefined ? {} : { phase }),
      ...(failure === undefined ? {} : { reason: failure.reason.slice(0, REASON_AT_MOST) }),
      ...(failure?.name === undefined ? {} : { failure: failure.name }),
      phases: [...this.durations, this.running(now())],
      disruption: this.disruption(),
      startedAt: this.startedAt,
      finishedAt: now(),
    };
  }

  end({ outcome, failure }: Ending): void {
    this.enter(failure?.name === 'NodeDeleted' ? NodePhase.GONE : END[outcome]);
  }

  private disruption(): NodeReport['disruption'] {
    const ran = new Set([...this.durations.map(({ phase }) => phase), this.phase]);
    if (this.pastPointOfNoReturn) return 'reboot';
    if (ran.has('Draining')) return 'drain';
    return ran.has('Reloading') ? 'services' : 'none';
  }

  /**
   * A step that the table does not know is a bug. A wrong label must not leave a node half way, so
   * the update goes on, and it is said aloud; the tests take it for a failure.
   */
  private closePhase(next: NodePhase): void {
    if (!mayFollow(this.phase, next)) {
      log.error('bug: a phase followed another that it may not follow', {
        node: this.input.node,
        from: this.phase,
        to: next,
      });
    }
    const instant = now();
    const ended = this.running(instant);
    this.durations.push(ended);
    this.metric.record(Math.max(0, ended.seconds), { pool: this.input.pool, phase: ended.phase });
    this.since = instant;
  }

  private running(until: string): NodeReport['phases'][number] {
    const seconds = (Date.parse(until) - Date.parse(this.since)) / 1000;
    return { phase: this.phase, seconds };
  }

  /** Markdown for the Temporal UI. */
  private describe(): void {
    const { node, pool, config } = this.input;
    const lines = [
      `**${node}** (pool ${pool}) → \`${config.name}\``,
      ...(this.plan === undefined ? [] : ['', `Plan: ${this.plan.summary}`]),
      ...(this.blocker === undefined ? [] : ['', `Waits for: ${this.blocker}`]),
      '',
      '| phase | seconds |',
      '| --- | --- |',
      ...this.durations.map(({ phase, seconds }) => `| ${phase} | ${seconds.toFixed(1)} |`),
      `| **${this.phase}** | since ${this.since} |`,
    ];
    setCurrentDetails(lines.join('\n'));
  }
}

function now(): string {
  return new Date(Date.now()).toISOString();
}
