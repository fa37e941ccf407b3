/** What a node update knows about itself: its phase, how long each took, and what it waits for. */

import { log, metricMeter, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { mayFollow, NodePhase } from '../core/node/lifecycle';
import type { UpdatePlan } from '../core/node/plan-types';
import type { Failure } from './contracts/failures';
import type { NodeReport, NodeStatus, Slot, UpdateNodeInput, UpdateOutcome } from './messages';

/** Reports are kept and queried by the hundred. */
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
  /** `resourceVersion` of the Node, seen in service. */
  readonly inServiceAt?: string;
  readonly hostIsBack?: false;
  /** `resourceVersion` of the Node, left out of service. */
  readonly leftAt?: string;
  readonly isTriedAgain?: boolean;
  readonly stoppedByRollout?: true;
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
  /** The slot that it holds. */
  slot: Slot | undefined;
  /** What was last said to the rollout reached nobody. */
  isUnheard = false;
  /** How many rollouts asked for the report. */
  attachedTo = 0;
  /** The last report, and how many rollouts had attached when it was sent. */
  said: { readonly report: NodeReport; attachedTo: number } | undefined;
  pastPointOfNoReturn = false;
  /** Why its rollout has it cancelled; undefined = whoever cancels it is a person. */
  stopReason: string | undefined;
  /** Workflow ID that gives the slot and gets the report. */
  reportTo: string;
  /** Rollouts of other pools that had this update before, or have asked for it: they get the report, too. */
  readonly others = new Set<string>();
  private readonly startedAt = now();
  private since = this.startedAt;
  /** Recorded once: a replay records nothing. */
  private readonly metric = metricMeter.createHistogram(PHASE_METRIC, 'float', 's');
  private readonly durations: { readonly phase: NodePhase; readonly seconds: number }[] = [];

  constructor(private readonly input: UpdateNodeInput) {
    this.reportTo = input.reportTo;
    this.describe();
  }

  /**
   * Another rollout takes over; that of another pool still has to hear the end.
   *
   * @param onlyListens - it gives no slot, and hears the end
   */
  attach(reportTo: string, onlyListens = false): void {
    this.attachedTo += 1;
    if (reportTo === this.reportTo) return;
    this.others.add(onlyListens ? reportTo : this.reportTo);
    if (onlyListens) return;
    this.others.delete(reportTo);
    this.reportTo = reportTo;
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

  /** What the rollout hears. Makes no phase of its own. */
  report(ending: Ending): NodeReport {
    const { failure, phase, inServiceAt, hostIsBack, leftAt } = ending;
    const { isTriedAgain, stoppedByRollout } = ending;
    return {
      node: this.input.node,
      ...(this.input.uid === undefined ? {} : { uid: this.input.uid }),
      runId: workflowInfo().runId,
      config: this.input.config.name,
      outcome: ending.outcome,
      ...(phase === undefined ? {} : { phase }),
      ...(failure === undefined ? {} : { reason: failure.reason.slice(0, REASON_AT_MOST) }),
      ...(failure?.name === undefined ? {} : { failure: failure.name }),
      ...(inServiceAt === undefined ? {} : { inServiceAt }),
      ...(hostIsBack === undefined ? {} : { hostIsBack }),
      ...(leftAt === undefined ? {} : { leftAt }),
      ...(isTriedAgain === undefined ? {} : { isTriedAgain }),
      ...(stoppedByRollout === undefined ? {} : { stoppedByRollout }),
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
