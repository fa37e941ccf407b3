/** What a node update knows about itself: its phase, how long each took, and what it waits for. */

import { setCurrentDetails } from '@temporalio/workflow';
import type { UpdatePlan } from '../core/node/plan';
import type { Failure } from './failures';
import type { NodePhase, NodeReport, NodeStatus, UpdateNodeInput, UpdateOutcome } from './messages';

/** Reports are kept and queried by the hundred. */
const REASON_AT_MOST = 1000;

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
}

/** Bookkeeping of one node update. Decides nothing. */
export class NodeProgress {
  phase: NodePhase = 'Preparing';
  blocker: string | undefined;
  plan: UpdatePlan | undefined;
  holdsSlot = false;
  /** The slot is only good while the node is unavailable anyway. */
  slotIsForRepair = false;
  /** How many rollouts asked for the report. */
  attachedTo = 0;
  pastPointOfNoReturn = false;
  /** Workflow ID that gives the slot and gets the report. */
  reportTo: string;
  private readonly startedAt = now();
  private since = this.startedAt;
  private readonly durations: { readonly phase: NodePhase; readonly seconds: number }[] = [];

  constructor(private readonly input: UpdateNodeInput) {
    this.reportTo = input.reportTo;
    this.describe();
  }

  /** Runs one phase. What it waits for, if anything, is shown meanwhile. */
  async during<T>(phase: NodePhase, work: () => Promise<T>, blocker?: string): Promise<T> {
    this.enter(phase, blocker);
    return work();
  }

  enter(phase: NodePhase, blocker?: string): void {
    if (phase !== this.phase) this.closePhase();
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

  report(ending: Ending): NodeReport {
    this.enter('Finished');
    const { failure, phase, inServiceAt, hostIsBack } = ending;
    return {
      node: this.input.node,
      config: this.input.config.name,
      outcome: ending.outcome,
      ...(phase === undefined ? {} : { phase }),
      ...(failure === undefined ? {} : { reason: failure.reason.slice(0, REASON_AT_MOST) }),
      ...(failure?.name === undefined ? {} : { failure: failure.name }),
      ...(inServiceAt === undefined ? {} : { inServiceAt }),
      ...(hostIsBack === undefined ? {} : { hostIsBack }),
      phases: [...this.durations],
      disruption: this.disruption(),
      startedAt: this.startedAt,
      finishedAt: now(),
    };
  }

  private disruption(): NodeReport['disruption'] {
    const ran = new Set(this.durations.map(({ phase }) => phase));
    if (this.pastPointOfNoReturn) return 'reboot';
    if (ran.has('Draining')) return 'drain';
    return ran.has('Reloading') ? 'services' : 'none';
  }

  private closePhase(): void {
    const instant = now();
    const seconds = (Date.parse(instant) - Date.parse(this.since)) / 1000;
    this.durations.push({ phase: this.phase, seconds });
    this.since = instant;
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
