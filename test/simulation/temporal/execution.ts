/**
 * One run of one workflow: its history, its workflow tasks, and the worker that has it in memory.
 *
 * A task is only true once it is committed. Until then the worker may die, and what the workflow
 * decided is forgotten; events that arrive meanwhile wait, and a run that wants to end although there
 * are some has to think again. Whoever is not in memory is replayed from the history, and must
 * decide the same.
 */

import type { Planned } from '../clock';
import { isAwaited, type ActivityTask } from './activity-task';
import { LocalActivity, type ScheduledLocally } from './local-activity';
import { cancelled, fromPayload, errorOf, type ActivityResult } from './payloads';
import {
  WorkflowTaskFailure,
  type Answer,
  type Command,
  type Identity,
  type Job,
  type SandboxedWorkflow,
  type Step,
} from './sandbox';
import type { TemporalModel } from './server';

type Status = 'running' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'continued';

interface Recorded {
  jobs: Job[];
  readonly now: number;
  readonly historyLength: number;
  readonly continueAsNewSuggested: boolean;
  readonly flags: readonly number[];
  readonly commands: string;
  /** Changes of the code that it was decided with. */
  readonly patches: readonly string[];
}

/** A workflow task under way. */
interface Task {
  steps: Recorded[];
  commands: Command[];
  /** The events that it began with; they come again when it is lost. */
  jobs: Job[];
  heartbeat: Planned | undefined;
}

/** Core reports to the server before the ten seconds of a task are over. */
const TASK_HEARTBEAT_MS = 8_000;
const TASK_TIMEOUT_MS = 10_000;

export class Execution {
  status: Status = 'running';
  result: unknown;
  failure: Error | undefined;
  /** Events in the history, about. */
  events = 3;
  readonly timers = new Map<number, Planned>();
  readonly activities = new Map<number, ActivityTask>();
  private inbox: Job[] = [];
  private history: Recorded[] = [];
  /** Updates that are in the history, however they end. */
  private readonly accepted = new Set<string>();
  private task: Task | undefined;
  private readonly locals = new Map<number, LocalActivity>();
  /** Types of the activities under way whose cancellation the workflow hears of at once. */
  private readonly goneOn = new Map<number, string>();
  private workflow: SandboxedWorkflow | undefined;
  private taskPlanned = false;
  /** The history has local activities that were begun and not ended; whoever replays begins them again. */
  private waitsForLocals = false;

  constructor(
    private readonly server: TemporalModel,
    readonly identity: Identity,
  ) {}

  get id(): string {
    return this.identity.workflowId;
  }

  get runId(): string {
    return this.identity.runId;
  }

  /** Types of the activities that are out, and whether something keeps one of them from being carried out. */
  underWay(): { readonly steps: readonly string[]; readonly isStruck: boolean } {
    const isStruck = [...this.activities.values()].some((activity) => activity.isStruck);
    const steps = [...this.activities.values(), ...this.locals.values()].map(({ type }) => type);
    return { steps, isStruck };
  }

  /** What the attempt of an activity says in its heartbeats; undefined = none is under way, or it has said nothing. */
  saidBy(type: string): unknown {
    return [...this.activities.values()].find((activity) => activity.type === type)?.said;
  }

  /** An event arrives. False = the run is closed. */
  push(job: Job): boolean {
    if (this.status !== 'running') return false;
    this.inbox.push(job);
    this.planTask();
    return true;
  }

  /** A timer that fired, but of which the workflow has not heard. */
  withdrawTimer(seq: number): void {
    this.inbox = this.inbox.filter((job) => job.fireTimer?.seq !== seq);
  }

  /** An activity that has ended, but of which the workflow has heard that it is cancelled. */
  withdrawResult(seq: number): void {
    if (!this.goneOn.has(seq)) return;
    this.inbox = this.inbox.filter(({ resolveActivity }) => resolveActivity?.seq !== seq);
  }

  /** Ends it from outside: it never gets to say anything. */
  async terminate(): Promise<void> {
    this.server.note(this.id, 'is terminated');
    await this.close('terminated');
  }

  /** The worker forgets it, or dies, in the middle of whatever it does. */
  async loseWorker(): Promise<void> {
    if (this.status !== 'running') return;
    if (this.task === undefined) await this.evict();
    else await this.crash('the worker died');
  }

  async query(type: string): Promise<unknown> {
    if (this.status !== 'running' || this.task !== undefined || this.history.length === 0) {
      return undefined;
    }
    // Whoever replays it begins its local activities, which only a task may do.
    if (this.waitsForLocals) return undefined;
    const workflow = await this.load();
    const answer = (await workflow.query(type, this.server.clock.now))?.respondToQuery;
    if (answer?.failed) throw errorOf(answer.failed);
    return fromPayload(answer?.succeeded?.response);
  }

  /** The run is over; the server goes on from here. */
  async close(status: Status): Promise<void> {
    if (this.status !== 'running') return;
    this.status = status;
    for (const timer of this.timers.values()) timer.cancel();
    for (const activity of this.activities.values()) activity.abandon();
    for (const local of this.locals.values()) local.die();
    this.locals.clear();
    this.task?.heartbeat?.cancel();
    this.task = undefined;
    this.inbox = [];
    this.history = [];
    await this.evict();
    this.server.closed(this);
  }

  private planTask(delay = this.server.chance.latency(10, 500)): void {
    if (this.taskPlanned || this.task !== undefined || this.status !== 'running') return;
    this.taskPlanned = true;
    this.server.clock.after(delay, () => this.beginTask());
  }

  private async beginTask(): Promise<void> {
    this.taskPlanned = false;
    if (this.status !== 'running' || this.task !== undefined) return;
    if (this.inbox.length === 0 && !this.waitsForLocals) return;
    this.task = { steps: [], commands: [], jobs: [], heartbeat: undefined };
    const workflow = await this.load();
    await this.takeUp(workflow);
    if (this.task?.steps.length === 0 && this.locals.size === 0) await this.makeTrue();
  }

  /** Hands the events over that have arrived. */
  private async takeUp(workflow: SandboxedWorkflow): Promise<void> {
    const { task } = this;
    if (task === undefined) return;
    const jobs = this.inbox.splice(0);
    task.jobs = [...jobs];
    for (const { resolveActivity } of jobs) this.goneOn.delete(resolveActivity?.seq ?? -1);
    task.heartbeat = this.server.clock.after(TASK_HEARTBEAT_MS, () => this.heartbeat());
    if (jobs.length === 0) return;
    await this.activate(workflow, jobs);
  }

  private async activate(workflow: SandboxedWorkflow, jobs: Job[]): Promise<void> {
    const { task, server } = this;
    if (task === undefined) return;
    this.events += 2 + jobs.length;
    const step = {
      now: server.clock.now,
      historyLength: this.events,
      continueAsNewSuggested: server.suggestsNewRun(this),
    };
    const flags = this.history.at(-1)?.flags ?? [];
    const answer = await this.tell(workflow, { ...step, jobs, isReplaying: false, flags });
    if (answer === undefined) return;
    for (const { level, message } of answer.logs) server.observer.logged(this, level, message);
    const { commands } = answer;
    task.steps.push({
      ...step,
      jobs,
      flags: merged(flags, answer.flags),
      commands: shape(commands),
      patches: commands.flatMap(({ setPatchMarker }) => setPatchMarker?.patchId ?? []),
    });
    for (const command of commands) this.collect(command);
    const told = commands.flatMap((command) => this.toldAtOnce(command));
    if (told.length > 0) await this.activate(workflow, told);
    else if (this.locals.size === 0) await this.commit();
  }

  /** What Core says in the same workflow task, without asking the server. */
  private toldAtOnce({ requestCancelActivity }: Command): readonly Job[] {
    const seq = requestCancelActivity?.seq ?? 0;
    const type = requestCancelActivity ? this.goneOn.get(seq) : undefined;
    return type === undefined ? [] : [{ resolveActivity: { seq, result: cancelled(type) } }];
  }

  /** Undefined = the task failed, which no task ever may. */
  private async tell(workflow: SandboxedWorkflow, step: Step): Promise<Answer | undefined> {
    try {
      return await workflow.activate(step);
    } catch (error) {
      if (!(error instanceof WorkflowTaskFailure)) throw error;
      const when = step.isReplaying ? 'replayed' : 'activated';
      this.server.observer.taskFailed(this, `${when}: ${error.message}`);
      return undefined;
    }
  }

  private collect(command: Command): void {
    const { scheduleLocalActivity, requestCancelLocalActivity, scheduleActivity } = command;
    if (scheduleActivity) this.noteCancellation(scheduleActivity);
    if (scheduleLocalActivity) this.startLocal(scheduleLocalActivity);
    else if (requestCancelLocalActivity) {
      this.locals.get(requestCancelLocalActivity.seq ?? 0)?.requestCancel();
    } else this.task?.commands.push(command);
  }

  /** Anew for each decision: one that was lost may have used the number for another step. */
  private noteCancellation(scheduled: NonNullable<Command['scheduleActivity']>): void {
    const { seq, activityType } = scheduled;
    if (isAwaited(scheduled)) this.goneOn.delete(seq ?? 0);
    else this.goneOn.set(seq ?? 0, activityType ?? '');
  }

  private startLocal(scheduled: ScheduledLocally): void {
    const seq = scheduled.seq ?? 0;
    const local: LocalActivity = new LocalActivity(
      this.server,
      scheduled,
      { workflowId: this.id, runId: this.runId },
      (result) => this.localDone(seq, local, result),
    );
    this.locals.set(seq, local);
  }

  private async localDone(
    seq: number,
    local: LocalActivity,
    result: ActivityResult,
  ): Promise<void> {
    if (this.locals.get(seq) !== local || this.task === undefined) return;
    if (this.workflow === undefined) return;
    this.locals.delete(seq);
    await this.activate(this.workflow, [{ resolveActivity: { seq, isLocal: true, result } }]);
  }

  /** A task with local activities goes on for long: what is decided so far becomes true. */
  private async heartbeat(): Promise<void> {
    if (this.task === undefined || this.locals.size === 0) return;
    const { workflow } = this;
    if (workflow === undefined) return;
    await this.makeTrue();
    if (this.status !== 'running') return;
    this.waitsForLocals = true;
    this.task = { steps: [], commands: [], jobs: [], heartbeat: undefined };
    await this.takeUp(workflow);
  }

  private async commit(): Promise<void> {
    const { task, server } = this;
    if (task === undefined) return;
    if (server.faults.losesTask()) return this.crash('the worker died before it answered');
    const ends = task.commands.some(isEnd);
    if (ends && this.inbox.length > 0) return this.crash('it wants to end, but there is news', 0);
    // Not before: a task that is lost now is begun again without any event.
    this.waitsForLocals = false;
    await this.makeTrue();
    if (this.status !== 'running') return;
    if (server.faults.forgets(this.history.length)) await this.evict();
    if (this.inbox.length > 0) this.planTask();
  }

  /** The server has it now. */
  private async makeTrue(): Promise<void> {
    const { task } = this;
    if (task === undefined) return;
    task.heartbeat?.cancel();
    this.task = undefined;
    const responses = task.commands.flatMap(({ updateResponse }) => updateResponse ?? []);
    for (const { accepted, protocolInstanceId } of responses) {
      if (accepted) this.accepted.add(protocolInstanceId ?? '');
    }
    const refused = new Set(
      responses
        .filter(({ rejected, protocolInstanceId }) => {
          return rejected && !this.accepted.has(protocolInstanceId ?? '');
        })
        .map(({ protocolInstanceId }) => protocolInstanceId),
    );
    for (const step of task.steps) {
      // A refused update leaves no trace.
      const jobs = step.jobs.filter(
        ({ doUpdate }) => !doUpdate || !refused.has(doUpdate.protocolInstanceId),
      );
      if (jobs.length > 0 || step.commands !== '') this.history.push({ ...step, jobs });
    }
    for (const command of task.commands) {
      this.events += 1;
      await this.server.carryOut(this, command);
      if (this.status !== 'running') return;
    }
  }

  /** Everything since the last commit is lost, and comes again. */
  private async crash(why: string, delay = TASK_TIMEOUT_MS): Promise<void> {
    const { task } = this;
    if (task === undefined) return;
    this.server.note(this.id, `workflow task lost: ${why}`);
    task.heartbeat?.cancel();
    this.inbox.unshift(...task.jobs);
    this.task = undefined;
    for (const local of this.locals.values()) local.die();
    this.locals.clear();
    await this.evict();
    this.planTask(delay);
  }

  private async evict(): Promise<void> {
    const { workflow } = this;
    this.workflow = undefined;
    await workflow?.dispose();
  }

  /** From memory, or replayed; local activities that nobody knows the end of are begun again. */
  private async load(): Promise<SandboxedWorkflow> {
    if (this.workflow !== undefined) return this.workflow;
    const workflow = await this.server.sandbox.create(this.identity);
    this.workflow = workflow;
    const open = new Map<number, ScheduledLocally>();
    for (const recorded of this.history) {
      const { commands } = await this.replay(workflow, recorded);
      for (const { resolveActivity } of recorded.jobs) {
        if (resolveActivity?.isLocal) open.delete(resolveActivity.seq ?? 0);
      }
      for (const { scheduleLocalActivity } of commands) {
        if (scheduleLocalActivity) open.set(scheduleLocalActivity.seq ?? 0, scheduleLocalActivity);
      }
    }
    for (const scheduled of open.values()) {
      if (!this.locals.has(scheduled.seq ?? 0)) this.startLocal(scheduled);
    }
    return workflow;
  }

  private async replay(workflow: SandboxedWorkflow, recorded: Recorded) {
    const { jobs, commands: before } = recorded;
    const again = jobs.map((job) =>
      job.doUpdate ? { doUpdate: { ...job.doUpdate, runValidator: false } } : job,
    );
    // A marker in the history is told before whatever happened then.
    again.unshift(...recorded.patches.map((patchId) => ({ notifyHasPatch: { patchId } })));
    const answer = await this.tell(workflow, { ...recorded, jobs: again, isReplaying: true });
    if (answer === undefined) return { commands: [] };
    const now = shape(answer.commands);
    if (now !== before) {
      this.server.observer.taskFailed(this, `nondeterminism: decided ${before}, replayed ${now}`);
    }
    return answer;
  }
}

function merged(a: readonly number[], b: readonly number[]): readonly number[] {
  return [...new Set([...a, ...b])];
}

function isEnd(command: Command): boolean {
  return Boolean(
    command.completeWorkflowExecution ??
    command.failWorkflowExecution ??
    command.cancelWorkflowExecution ??
    command.continueAsNewWorkflowExecution,
  );
}

/** What must be the same when a decision is made again; a refused message leaves no trace. */
function shape(commands: readonly Command[]): string {
  return commands
    .filter(({ updateResponse }) => !updateResponse)
    .map((command) => {
      const [kind = '', body] = Object.entries(command).find(
        ([key, value]) => key !== 'userMetadata' && value,
      ) as [string, Record<string, unknown>];
      const { seq, activityType, workflowId, signalName, protocolInstanceId } = body;
      const words = [kind, seq, activityType, workflowId, signalName, protocolInstanceId];
      return words.filter((word) => word !== undefined && word !== null && word !== '').join(' ');
    })
    .join('; ');
}
