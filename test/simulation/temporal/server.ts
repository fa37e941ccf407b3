/** A Temporal server as far as the workflows of Slipway need one, in virtual time. */

import type { Chance, VirtualClock } from '../clock';
import { tsToMs } from '@temporalio/common/lib/time';
import type { coresdk } from '@temporalio/proto';
import type { OpenUpdate } from '../../../core/rollout/picture';
import { ActivityTask, type ActivityHost } from './activity-task';
import type { Perform } from './attempt';
import { Execution } from './execution';
import { errorOf, fromPayload, fromPayloads, toPayloadList, type ActivityResult } from './payloads';
import type { Command, Identity, Job, Sandbox } from './sandbox';
import { Visibility, type VisibleUpdate } from './visibility';

/** Who watches; told of everything that a workflow does to the outside. */
export interface Observer {
  taskFailed(execution: Execution, why: string): void;
  logged(execution: Execution, level: string, message: string): void;
  started(execution: Execution, input: unknown): void;
  closed(execution: Execution): void;
}

/** What goes wrong with workers and histories. */
interface WorkflowFaults {
  losesTask(): boolean;
  /** @param steps - how many the replay would have */
  forgets(steps: number): boolean;
  /** Events after which the server suggests a new run. */
  readonly longHistory: number;
}

interface ServerParts {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly sandbox: Sandbox;
  readonly perform: Perform;
  readonly whenPolled: ActivityHost['whenPolled'];
  readonly observer: Observer;
  readonly faults: WorkflowFaults;
  readonly note: (who: string, what: string) => void;
}

/** How an update was answered. */
export type UpdateAnswer =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: Error };

export class TemporalModel implements ActivityHost {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly sandbox: Sandbox;
  readonly perform: Perform;
  readonly observer: Observer;
  readonly faults: WorkflowFaults;
  private readonly executions = new Map<string, Execution>();
  private readonly updates = new Map<
    string,
    {
      readonly of: Execution;
      accepted: (() => void) | undefined;
      answer(answer: UpdateAnswer): void;
    }
  >();
  private readonly visibility: Visibility;
  private runs = 0;
  private requests = 0;

  constructor(private readonly parts: ServerParts) {
    this.visibility = new Visibility(parts.clock, parts.chance.fork());
    ({
      clock: this.clock,
      chance: this.chance,
      sandbox: this.sandbox,
      perform: this.perform,
      observer: this.observer,
      faults: this.faults,
    } = parts);
  }

  whenPolled(queue: string, start: () => void): void {
    this.parts.whenPolled(queue, start);
  }

  note(who: string, what: string): void {
    this.parts.note(who, what);
  }

  /** The last run with this workflow ID. */
  find(workflowId: string): Execution | undefined {
    return this.executions.get(workflowId);
  }

  isRunning(workflowId: string): boolean {
    return this.find(workflowId)?.status === 'running';
  }

  /** Whether this very run is the one that goes on. */
  isOpen(workflowId: string, runId: string): boolean {
    return this.isRunning(workflowId) && this.find(workflowId)?.runId === runId;
  }

  open(): readonly Execution[] {
    return [...this.executions.values()].filter(({ status }) => status === 'running');
  }

  /** One with this ID that runs already goes on. @param shown - how it is listed; absent = it is not */
  start(type: string, workflowId: string, input: unknown, shown?: VisibleUpdate): void {
    if (this.isRunning(workflowId)) return;
    const { runId } = this.newRun(type, workflowId, input);
    if (shown !== undefined) this.visibility.opened(runId, shown);
  }

  signalWithStart(
    start: { readonly type: string; readonly workflowId: string; readonly input: unknown },
    signalName: string,
    ...args: readonly unknown[]
  ): void {
    this.start(start.type, start.workflowId, start.input);
    this.signal(start.workflowId, signalName, ...args);
  }

  /** The open updates of a pool, as they are listed. */
  openUpdatesOf(pool: string): readonly OpenUpdate[] {
    return this.visibility.openOf(pool);
  }

  /** The database is lost, and everything that runs with it. */
  async loseDatabase(): Promise<void> {
    for (const execution of this.open()) await execution.terminate();
    this.visibility.forget();
  }

  signal(workflowId: string, signalName: string, ...args: readonly unknown[]): boolean {
    const input = toPayloadList(...args);
    return this.deliver(workflowId, {
      signalWorkflow: { signalName, input, identity: 'simulation' },
    });
  }

  cancel(workflowId: string, runId?: string): boolean {
    return this.deliver(workflowId, { cancelWorkflow: { reason: 'simulation' } }, runId);
  }

  /** Resolves with the answer; a run that closes before has none. `accepted` is called when it is in the history. */
  update(id: string, name: string, input: unknown, accepted?: () => void): Promise<UpdateAnswer> {
    const execution = this.find(id);
    const updateId = `update-${(this.requests += 1)}`;
    return new Promise((answer) => {
      if (execution?.status !== 'running') {
        answer({ ok: false, error: new Error(`${id} does not run`) });
        return;
      }
      this.updates.set(updateId, { of: execution, accepted, answer });
      execution.push({
        doUpdate: {
          id: updateId,
          protocolInstanceId: updateId,
          name,
          input: toPayloadList(input),
          runValidator: true,
          meta: { updateId, identity: 'simulation' },
        },
      });
    });
  }

  suggestsNewRun({ events }: Execution): boolean {
    return events >= this.faults.longHistory;
  }

  /** A run is over: whoever waits for it hears so. */
  closed(execution: Execution): void {
    this.visibility.closed(execution.runId);
    for (const [id, { of, answer }] of this.updates) {
      if (of !== execution) continue;
      this.updates.delete(id);
      answer({ ok: false, error: new Error(`${execution.id} closed before it answered`) });
    }
    if (execution.status === 'continued') return;
    this.observer.closed(execution);
  }

  /** What a workflow decided. */
  async carryOut(of: Execution, command: Command): Promise<void> {
    if (command.startTimer) this.startTimer(of, command.startTimer);
    else if (command.cancelTimer) cancelTimer(of, command.cancelTimer.seq ?? 0);
    else if (command.scheduleActivity) this.schedule(of, command.scheduleActivity);
    else if (command.requestCancelActivity) {
      cancelActivity(of, command.requestCancelActivity.seq ?? 0);
    } else if (command.updateResponse) this.answerUpdate(command.updateResponse);
    else if (command.upsertWorkflowSearchAttributes || command.modifyWorkflowProperties) return;
    // Kept in the history, from which the run is told again.
    else if (command.setPatchMarker) return;
    else await this.end(of, command);
  }

  private newRun(type: string, workflowId: string, input: unknown): Execution {
    this.runs += 1;
    const identity: Identity = {
      ...{ type, workflowId },
      runId: `run-${this.runs}`,
      startedAt: this.clock.now,
      seed: this.runs,
    };
    const execution = new Execution(this, identity);
    this.executions.set(workflowId, execution);
    execution.push({
      initializeWorkflow: {
        workflowId,
        workflowType: type,
        arguments: toPayloadList(input),
        randomnessSeed: this.runs,
      },
    } as unknown as Job);
    this.observer.started(execution, input);
    return execution;
  }

  /** @param runId - of the only run that it is meant for; '' = whichever runs */
  private deliver(workflowId: string, job: Job, runId = ''): boolean {
    const execution = this.find(workflowId);
    if (execution === undefined || (runId !== '' && execution.runId !== runId)) return false;
    return execution.push(job);
  }

  private startTimer(
    of: Execution,
    { seq, startToFireTimeout }: coresdk.workflow_commands.IStartTimer,
  ): void {
    const id = seq ?? 0;
    const fire = (): void => {
      if (of.timers.delete(id)) of.push({ fireTimer: { seq: id } });
    };
    of.timers.set(id, this.clock.after(tsToMs(startToFireTimeout), fire));
  }

  private schedule(of: Execution, scheduled: coresdk.workflow_commands.IScheduleActivity): void {
    const seq = scheduled.seq ?? 0;
    const { id: workflowId, runId } = of;
    const input = fromPayload(scheduled.arguments?.[0]);
    this.note(workflowId, `schedules ${scheduled.activityType}`);
    const ended = (result: ActivityResult): void => {
      of.activities.delete(seq);
      if (!task.isSettled) of.push({ resolveActivity: { seq, result } });
    };
    const task = new ActivityTask(this, scheduled, { workflowId, runId }, input, ended);
    of.activities.set(seq, task);
  }

  private answerUpdate(response: coresdk.workflow_commands.IUpdateResponse): void {
    const id = response.protocolInstanceId ?? '';
    const request = this.updates.get(id);
    if (response.accepted) {
      request?.accepted?.();
      return;
    }
    this.updates.delete(id);
    if (response.rejected) request?.answer({ ok: false, error: errorOf(response.rejected) });
    else request?.answer({ ok: true, value: fromPayload(response.completed) });
  }

  private async end(of: Execution, command: Command): Promise<void> {
    const { completeWorkflowExecution, failWorkflowExecution, continueAsNewWorkflowExecution } =
      command;
    if (completeWorkflowExecution) {
      const { result } = completeWorkflowExecution;
      of.result = fromPayload(result);
      await of.close('completed');
    } else if (failWorkflowExecution) {
      const failure = failWorkflowExecution.failure ?? {};
      of.failure = errorOf(failure);
      await of.close('failed');
    } else if (command.cancelWorkflowExecution) {
      await of.close('cancelled');
    } else if (continueAsNewWorkflowExecution) {
      const { workflowType, arguments: args } = continueAsNewWorkflowExecution;
      this.note(of.id, `continues as new after ${of.events} events`);
      await of.close('continued');
      this.newRun(workflowType ?? '', of.id, fromPayloads(args)[0]);
    } else throw new Error(`unknown command ${JSON.stringify(command)}`);
  }
}

function cancelTimer(of: Execution, seq: number): void {
  of.timers.get(seq)?.cancel();
  of.timers.delete(seq);
  of.withdrawTimer(seq);
}

function cancelActivity(of: Execution, seq: number): void {
  of.activities.get(seq)?.requestCancel();
  of.withdrawResult(seq);
}
