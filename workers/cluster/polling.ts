/** The workers of the cluster worker, on the connection that is good now. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { bundleWorkflowCode, type NativeConnection, Worker } from '@temporalio/worker';
import { CLUSTER_QUEUE, STEP_QUEUE } from '../../core/names';
import type { Logger } from '../../process/logging';
import type { TemporalConnection } from '../../process/temporal/connection';
import { endWhenRefused } from '../../process/temporal/refused-polls';
import { FAILURE_CONVERTER } from '../../process/temporal/payload-codec';
import { untilAvailable } from '../../process/until-available';
import type { ClusterWorkerSettings } from './settings';
import { UNREPLAYABLE_FAILS } from './unreplayable';

/** One for each pool, as a rule. */
const STEPS_AT_ONCE = 50;

interface Polling {
  readonly activities: object;
  readonly stepActivities: object;
  /** Of what workflows hand over. */
  readonly signing: PayloadCodec;
  readonly converter: DataConverter;
  readonly identity: string;
  readonly link: TemporalConnection<NativeConnection>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly waitingFor: Set<string>;
  readonly onReady: () => void;
}

/**
 * A worker that cannot continue, for example without its namespace, is replaced when Temporal
 * answers.
 */
export async function pollUntilAborted(
  settings: ClusterWorkerSettings,
  polling: Polling,
): Promise<void> {
  const { link, log, signal, waitingFor } = polling;
  const temporal = `Temporal at ${settings.temporalAddress}`;
  const workflows = await workflowCode(settings, log);
  while (!signal.aborted) {
    await link.untilSetUp(signal);
    const workers = await untilAvailable(
      temporal,
      () => createWorkers(settings, workflows, polling),
      { log, signal },
    );
    const unfollow = link.follow((connection) => {
      for (const worker of workers) worker.connection = connection;
    });
    waitingFor.clear();
    log.info({ taskQueue: CLUSTER_QUEUE, namespace: settings.temporalNamespace }, 'polling');
    polling.onReady();
    try {
      await runTogether(workers, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.error({ err: error }, 'worker ended; starting it again');
      waitingFor.add(temporal);
    } finally {
      unfollow();
    }
  }
}

/** Until the signal aborts, or one of them ends: then the others end, too. */
async function runTogether(workers: readonly Worker[], signal: AbortSignal): Promise<void> {
  const stop = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const refusals = workers.map((worker) => endWhenRefused(worker, stop));
  const runs = workers.map((worker) => worker.run().finally(stop));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop);
  try {
    const ended = await Promise.allSettled(runs);
    for (const run of ended) if (run.status === 'rejected') throw run.reason;
    for (const throwIfRefused of refusals) throwIfRefused();
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

type WorkflowCode = { readonly codePath: string } | { readonly code: string };

/** Without the bundle of the build, one is made. */
async function workflowCode(settings: ClusterWorkerSettings, log: Logger): Promise<WorkflowCode> {
  const built = resolve(
    settings.workflowBundle ?? join(__dirname, '..', '..', 'workflow-bundle.js'),
  );
  if (existsSync(built)) return { codePath: built };
  if (settings.workflowBundle !== undefined) {
    log.warn({ path: built }, 'workflow bundle does not exist; bundling the workflows now');
  }
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('../../workflows'),
    failureConverterPath: FAILURE_CONVERTER,
    logger: silent(),
  });
  return { code };
}

/** Steps have a worker of their own: those that wait for a grant may fill the other one, and a step gives it. */
async function createWorkers(
  settings: ClusterWorkerSettings,
  workflowBundle: WorkflowCode,
  { activities, stepActivities, signing, converter, identity, link }: Polling,
): Promise<readonly Worker[]> {
  const { connection } = link;
  const namespace = settings.temporalNamespace;
  // A worker asks for it, too, and where that fails the SDK leaves a thread behind.
  await connection.workflowService.describeNamespace({ namespace });
  const common = {
    ...{ connection, namespace, identity },
    // A cancellation comes with the reply to a heartbeat; each costs Temporal a write.
    maxHeartbeatThrottleInterval: '5s',
    shutdownGraceTime: `${settings.shutdownGraceSeconds}s`,
    shutdownForceTime: `${settings.shutdownGraceSeconds + 10}s`,
  } as const;
  const worker = await Worker.create({
    ...common,
    workflowBundle,
    activities,
    // Orders are signed, and then encoded.
    dataConverter: {
      ...converter,
      payloadCodecs: [signing, ...(converter.payloadCodecs ?? [])],
    },
    taskQueue: CLUSTER_QUEUE,
    maxConcurrentActivityTaskExecutions: settings.maxActivities,
    maxConcurrentLocalActivityExecutions: settings.maxActivities,
    maxConcurrentWorkflowTaskExecutions: settings.maxWorkflowTasks,
    maxCachedWorkflows: settings.maxCachedWorkflows,
    // Workflows of a worker that has died go on elsewhere after this time.
    stickyQueueScheduleToStartTimeout: '5s',
    ...UNREPLAYABLE_FAILS,
  });
  const steps = await Worker.create({
    ...common,
    activities: stepActivities,
    dataConverter: converter,
    taskQueue: STEP_QUEUE,
    maxConcurrentActivityTaskExecutions: STEPS_AT_ONCE,
  });
  return [worker, steps];
}

function silent() {
  const nothing = (): void => undefined;
  return {
    log: nothing,
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: nothing,
  };
}
