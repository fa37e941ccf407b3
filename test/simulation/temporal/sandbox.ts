/**
 * The one file that knows the internals of the SDK: it loads a workflow bundle and drives single
 * workflows with Core's activation protocol, without Core and without a server. Written for SDK
 * 1.24.0, whose own tests do the same; a new SDK version changes this file and no other.
 */

import { readFileSync } from 'node:fs';
import { TypedSearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time';
import { coresdk } from '@temporalio/proto';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker';
import type { Workflow } from '@temporalio/worker/lib/workflow/interface';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared';
import type { WorkflowInfo } from '@temporalio/workflow';
import { StuckGuard } from './stuck-guard';

export type Job = coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = coresdk.workflow_commands.IWorkflowCommand;

const { WorkflowActivation } = coresdk.workflow_activation;

/** What a worker has registered, and workflows may therefore run as local activities. */
const LOCAL = new Set(['showRebooting', 'showGoingBack']);

/** Longer than any activation takes, also on a busy machine. */
const STUCK_MS = 60_000;

/** Who a workflow is: the same for every replay of a run. */
export interface Identity {
  readonly type: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly startedAt: number;
  readonly seed: number;
}

/** What one activation is told. */
export interface Step {
  readonly jobs: readonly Job[];
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly isReplaying: boolean;
  readonly historyLength: number;
  readonly continueAsNewSuggested: boolean;
  /** Flags of the SDK that the recorded run had in use. */
  readonly flags: readonly number[];
}

export interface Answer {
  readonly commands: readonly Command[];
  readonly flags: readonly number[];
  /** What the workflow logged while it was not replayed. */
  readonly logs: readonly { readonly level: string; readonly message: string }[];
}

/** The workflow task failed: on a server it would be tried again for ever. */
export class WorkflowTaskFailure extends Error {}

/** One for all bundles of a process. */
let guard: StuckGuard | undefined;

/** A loaded bundle. */
export class Sandbox {
  static async load(code: string, path?: string): Promise<Sandbox> {
    const bundle = parseWorkflowCode(code, path);
    // No limit of the SDK's for each call: the guard looks after all of them.
    const unlimited = undefined as unknown as number;
    const creator = await ReusableVMWorkflowCreator.create(bundle, unlimited, LOCAL);
    // It keeps a stack for every promise, for a query that nobody asks here; half of the time went there.
    const { stopPromiseHook } = globalHandlers as unknown as { stopPromiseHook(): void };
    stopPromiseHook();
    return new Sandbox(creator);
  }

  static fromFile(path: string): Promise<Sandbox> {
    return Sandbox.load(readFileSync(path, 'utf8'), path);
  }

  private constructor(private readonly creator: ReusableVMWorkflowCreator) {}

  async create(identity: Identity): Promise<SandboxedWorkflow> {
    const { startedAt, seed, workflowId } = identity;
    const workflow = await this.creator.createWorkflow({
      info: infoOf(identity),
      randomnessSeed: Array.from({ length: 8 }, (_, i) => (seed * 31 + i * 7) & 0xff),
      now: startedAt,
      showStackTraceSources: false,
    });
    const watching = (guard ??= new StuckGuard(STUCK_MS));
    const activate: Workflow['activate'] = (activation) =>
      watching.watch(workflowId, () => workflow.activate(activation));
    return new SandboxedWorkflow(identity.runId, workflow, activate);
  }

  destroy(): Promise<void> {
    return this.creator.destroy();
  }
}

/** One workflow in memory, as a worker caches it. */
export class SandboxedWorkflow {
  constructor(
    private readonly runId: string,
    private readonly workflow: Workflow,
    private readonly watched: Workflow['activate'],
  ) {}

  /** @throws `WorkflowTaskFailure` */
  async activate(step: Step): Promise<Answer> {
    const completion = await this.watched(
      WorkflowActivation.fromObject({
        runId: this.runId,
        timestamp: msToTs(step.now),
        isReplaying: step.isReplaying,
        historyLength: step.historyLength,
        historySizeBytes: step.historyLength * 200,
        continueAsNewSuggested: step.continueAsNewSuggested,
        availableInternalFlags: [...step.flags],
        jobs: inCoresOrder(step.jobs),
      }),
    );
    const calls = await this.workflow.getAndResetSinkCalls();
    if (completion.failed) {
      const { message, stackTrace } = completion.failed.failure ?? {};
      throw new WorkflowTaskFailure(`${message ?? 'no message'}\n${stackTrace ?? ''}`);
    }
    const logs = calls
      .filter(({ ifaceName }) => ifaceName === '__temporal_logger')
      .map(({ fnName, args }) => ({ level: fnName, message: String(args[0]) }));
    return {
      commands: completion.successful?.commands ?? [],
      flags: [...(completion.successful?.usedInternalFlags ?? [])],
      logs,
    };
  }

  /** Asks without leaving a trace in the history. */
  async query(queryType: string, now: number): Promise<Command | undefined> {
    const completion = await this.watched(
      WorkflowActivation.fromObject({
        runId: this.runId,
        timestamp: msToTs(now),
        jobs: [{ queryWorkflow: { queryId: 'q', queryType, arguments: [] } }],
      }),
    );
    await this.workflow.getAndResetSinkCalls();
    return completion.successful?.commands?.[0];
  }

  dispose(): Promise<void> {
    return this.workflow.dispose();
  }
}

/** Core hands over the start, then messages, then everything else. */
function inCoresOrder(jobs: readonly Job[]): Job[] {
  const rank = (job: Job): number => {
    if (job.initializeWorkflow) return 0;
    if (job.signalWorkflow || job.doUpdate) return 1;
    return 2;
  };
  return [...jobs].sort((a, b) => rank(a) - rank(b));
}

function infoOf({ type, workflowId, runId, startedAt }: Identity): WorkflowInfo {
  const started = new Date(startedAt);
  return {
    workflowType: type,
    workflowId,
    runId,
    firstExecutionRunId: runId,
    namespace: 'simulation',
    attempt: 1,
    taskTimeoutMs: 10_000,
    taskQueue: 'slipway',
    searchAttributes: {},
    typedSearchAttributes: new TypedSearchAttributes(),
    historyLength: 3,
    historySize: 600,
    continueAsNewSuggested: false,
    targetWorkerDeploymentVersionChanged: false,
    startTime: started,
    runStartTime: started,
    // The SDK fills in what only it can give; workflows of Slipway use none of it.
    unsafe: {
      now: () => startedAt,
      isReplaying: false,
      isReplayingHistoryEvents: false,
    } as WorkflowInfo['unsafe'],
  } as WorkflowInfo;
}
