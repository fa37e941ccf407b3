/** A Temporal server as far as the workflows of Slipway need one, in virtual time. */

import type { Chance, VirtualClock } from '../clock';
import { tsToMs } from '@temporalio/common/lib/time';
import { coresdk } from '@temporalio/proto';
import { ActivityTask, type ActivityHost } from './activity-task';
import type { Perform } from './attempt';
import { Execution } from './execution';
import {
  errorOf,
  failureOf,
  fromPayload,
  fromPayloads,
  toPayloadList,
  type ActivityResult,
} from './payloads';
import type { Command, Identity, Job, Sandbox } from './sandbox';

const { WORKFLOW_ALREADY_EXISTS } = {
  WORKFLOW_ALREADY_EXISTS:
    coresdk.child_workflow.StartChildWorkflowExecutionFailedCause
      .START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS,
};

/** Who watches; told of everything that a workflow does to the outside. */
export interface Observer {
  taskFailed(execution: Execution, why: string): void;
  logged(execution: Execution, level: string, message: string): void;
  started(execution: Execution, input: unknown): void;
  closed(execution: Execution): void;
  /** A workflow sends a signal to another one; not yet delivered, and never when the run that it is for has ended. */
  signals(from: Execution, to: string, name: string, input: unknown, isForOpenRun: boolean): void;
}

/** What goes wrong with workers and histories. */
interface WorkflowFaults {
  losesTask(): boolean;
  /** @param steps - how many the replay would have */
  forgets(steps: number): boolean;
  /** How long a message between workflows is held up, as when the part of the server that has one of them moves; 0 = not. */
  holdsUpMs(): number;
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
  private runs = 0;
  private requests = 0;

  constructor(private readonly parts: ServerParts) {
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

  /** Undefined = one with this ID runs already. */
  start(
    type: string,
    workflowId: string,
    input: unknown,
    parentId?: string,
  ): Execution | undefined {
    if (this.isRunning(workflowId)) return undefined;
    return this.newRun(type, workflowId, input, parentId);
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
  closed(execution: Execution, forParent: object): void {
    for (const [id, { of, answer }] of this.updates) {
      if (of !== execution) continue;
      this.updates.delete(id);
      answer({ ok: false, error: new Error(`${execution.id} closed before it answered`) });
    }
    if (execution.status === 'continued') return;
    execution.onClose?.(forParent);
    this.observer.closed(execution);
  }

  /** What a workflow decided. */
  async carryOut(of: Execution, command: Command): Promise<void> {
    if (command.startTimer) this.startTimer(of, command.startTimer);
    else if (command.cancelTimer) cancelTimer(of, command.cancelTimer.seq ?? 0);
    else if (command.scheduleActivity) this.schedule(of, command.scheduleActivity);
    else if (command.requestCancelActivity) {
      cancelActivity(of, command.requestCancelActivity.seq ?? 0);
    } else if (command.startChildWorkflowExecution) {
      this.startChild(of, command.startChildWorkflowExecution);
    } else if (command.signalExternalWorkflowExecution) {
      this.signalExternal(of, command.signalExternalWorkflowExecution);
    } else if (command.requestCancelExternalWorkflowExecution) {
      this.cancelExternal(of, command.requestCancelExternalWorkflowExecution);
    } else if (command.updateResponse) this.answerUpdate(command.updateResponse);
    else if (command.upsertWorkflowSearchAttributes || command.modifyWorkflowProperties) return;
    // Kept in the history, from which the run is told again.
    else if (command.setPatchMarker) return;
    // Sent already; the server takes no signal back.
    else if (command.cancelSignalWorkflow) return;
    else await this.end(of, command);
  }

  private newRun(type: string, workflowId: string, input: unknown, parentId?: string): Execution {
    this.runs += 1;
    const identity: Identity = {
      ...{ type, workflowId, parentId },
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

  private startChild(
    of: Execution,
    child: coresdk.workflow_commands.IStartChildWorkflowExecution,
  ): void {
    const { seq, workflowId, workflowType } = child;
    const [id, type] = [workflowId ?? '', workflowType ?? ''];
    const input = fromPayloads(child.input)[0];
    of.startingChildren.add(id);
    this.soon(() => {
      const started = this.start(type, id, input, of.id);
      const answer =
        started === undefined
          ? { failed: { workflowId: id, workflowType: type, cause: WORKFLOW_ALREADY_EXISTS } }
          : { succeeded: { runId: started.runId } };
      let isConfirmed = false;
      let ended: (() => void) | undefined;
      this.soon(() => {
        of.startingChildren.delete(id);
        of.push({ resolveChildWorkflowExecutionStart: { seq: seq ?? 0, ...answer } });
        isConfirmed = true;
        ended?.();
      });
      if (started === undefined) return;
      started.onClose = (result) => {
        // After the start was confirmed, as in a history.
        ended = () => {
          this.soon(() => {
            this.soon(() => {
              this.clock.after(LONGEST_CONFIRMATION_MS, () => {
                of.push({ resolveChildWorkflowExecution: { seq: seq ?? 0, result } });
              });
            });
          });
        };
        if (isConfirmed) ended();
      };
    });
  }

  private signalExternal(
    of: Execution,
    command: coresdk.workflow_commands.ISignalExternalWorkflowExecution,
  ): void {
    const seq = command.seq ?? 0;
    const to = command.workflowExecution?.workflowId ?? command.childWorkflowId ?? '';
    const runId = command.workflowExecution?.runId ?? '';
    const [name, args] = [command.signalName ?? '', command.args ?? []];
    const isForOpenRun = runId === '' || this.find(to)?.runId === runId;
    this.observer.signals(of, to, name, fromPayload(args[0]), isForOpenRun && this.isRunning(to));
    of.messages += 1;
    this.soon(() => {
      const job = { signalWorkflow: { signalName: name, input: args, identity: of.id } };
      const failure = this.deliver(to, job, runId) ? undefined : notFound(to);
      this.soon(() => {
        of.messages -= 1;
        of.push({ resolveSignalExternalWorkflow: { seq, ...(failure ? { failure } : {}) } });
      });
    });
  }

  private cancelExternal(
    of: Execution,
    command: coresdk.workflow_commands.IRequestCancelExternalWorkflowExecution,
  ): void {
    const seq = command.seq ?? 0;
    const to = command.workflowExecution?.workflowId ?? '';
    const runId = command.workflowExecution?.runId ?? '';
    this.note(of.id, `cancels ${to}`);
    this.soon(() => {
      const failure = this.cancel(to, runId) ? undefined : notFound(to);
      this.soon(() => {
        of.push({ resolveRequestCancelExternalWorkflow: { seq, ...(failure ? { failure } : {}) } });
      });
    });
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
    const childFailure = (cause: object): object => ({
      failure: {
        message: 'child workflow did not complete',
        cause,
        childWorkflowExecutionFailureInfo: {
          namespace: 'simulation',
          workflowExecution: { workflowId: of.id, runId: of.runId },
          workflowType: { name: of.identity.type },
        },
      },
    });
    if (completeWorkflowExecution) {
      const { result } = completeWorkflowExecution;
      of.result = fromPayload(result);
      await of.close('completed', { completed: { result } });
    } else if (failWorkflowExecution) {
      const failure = failWorkflowExecution.failure ?? {};
      of.failure = errorOf(failure);
      await of.close('failed', { failed: childFailure(failure) });
    } else if (command.cancelWorkflowExecution) {
      await of.close('cancelled', { cancelled: childFailure({ canceledFailureInfo: {} }) });
    } else if (continueAsNewWorkflowExecution) {
      const { workflowType, arguments: args } = continueAsNewWorkflowExecution;
      this.note(of.id, `continues as new after ${of.events} events`);
      await of.close('continued', {});
      const next = this.newRun(
        workflowType ?? '',
        of.id,
        fromPayloads(args)[0],
        of.identity.parentId,
      );
      next.onClose = of.onClose;
    } else throw new Error(`unknown command ${JSON.stringify(command)}`);
  }

  private soon(work: () => void): void {
    const usual = this.chance.latency(20, LONGEST_CONFIRMATION_MS);
    this.clock.after(usual + this.faults.holdsUpMs(), work);
  }
}

/** Messages between workflows take this long at most. */
const LONGEST_CONFIRMATION_MS = 1_500;

function cancelTimer(of: Execution, seq: number): void {
  of.timers.get(seq)?.cancel();
  of.timers.delete(seq);
  of.withdrawTimer(seq);
}

function cancelActivity(of: Execution, seq: number): void {
  of.activities.get(seq)?.requestCancel();
  of.withdrawResult(seq);
}

function notFound(workflowId: string): object {
  const gone = Object.assign(new Error(`workflow ${workflowId} not found`), { name: 'NotFound' });
  return failureOf(gone);
}
