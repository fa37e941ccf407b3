/** What a node update knows about itself: its phase, how long each took, and what it waits for. */

import { log, metricMeter, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { mayFollow, PHASE_METRIC, type NodePhase } from '../../core/node/lifecycle';
import type { UpdatePlan } from '../../core/node/plan-types';
import { blockerOf, isPastReturn, planOf, shownPhase } from '../../core/node/update-shown';
import { BEGIN, type Ending, type UpdateState } from '../../core/node/update-states';
import {
  statusQuery,
  type NodeReport,
  type NodeStatus,
  type NodeUpdateInput,
} from '../contracts/update';

const REASON_AT_MOST = 1000;

/** Bookkeeping of one node update. Decides nothing. */
export class NodeProgress {
  private state: UpdateState = BEGIN;
  private plan: UpdatePlan | undefined;
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

  show(state: UpdateState): void {
    const phase = shownPhase(state);
    if (phase !== this.phase) this.closePhase(phase);
    this.state = state;
    this.plan = planOf(state) ?? this.plan;
    this.describe();
  }

  private get phase(): NodePhase {
    return shownPhase(this.state);
  }

  status(): NodeStatus {
    const { node, pool, config } = this.input;
    const blocker = blockerOf(this.state);
    return {
      node,
      pool,
      config: config.name,
      phase: this.phase,
      since: this.since,
      ...(this.plan === undefined ? {} : { summary: this.plan.summary }),
      ...(blocker === undefined ? {} : { blocker }),
      pastPointOfNoReturn: isPastReturn(this.state),
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
      phases: this.durations,
      startedAt: this.startedAt,
      finishedAt: now(),
    };
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

  /** So far, with the one that goes on. */
  phases(): NodeReport['phases'] {
    return [...this.durations, this.running(now())];
  }

  private running(until: string): NodeReport['phases'][number] {
    const seconds = (Date.parse(until) - Date.parse(this.since)) / 1000;
    return { phase: this.phase, seconds };
  }

  /** Markdown for the Temporal UI. */
  private describe(): void {
    const { node, pool, config } = this.input;
    const blocker = blockerOf(this.state);
    const lines = [
      `**${node}** (pool ${pool}) → \`${config.name}\``,
      ...(this.plan === undefined ? [] : ['', `Plan: ${this.plan.summary}`]),
      ...(blocker === undefined ? [] : ['', `Waits for: ${blocker}`]),
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
