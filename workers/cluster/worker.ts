/**
 * The cluster worker: all workflows and the cluster activities, on the shared task queue. Each
 * replica has its own cache of the cluster.
 */

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Client } from '@temporalio/client';
import type { DataConverter, PayloadCodec } from '@temporalio/common';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import {
  clusterActivitiesForWorker,
  stepActivitiesForWorker,
} from '../../activities/cluster/cluster-activities';
import { currentRun } from '../../activities/cluster/activity-run';
import type { ClusterPorts } from '../../activities/cluster/ports';
import { connectKube, type KubeClient } from '../../adapters/kube/client';
import {
  createClusterCaches,
  runCaches,
  whenCachesSynced,
  type ClusterCaches,
} from '../../adapters/kube/cluster-caches';
import { findMco } from '../../adapters/kube/mco-presence';
import { NodePods } from '../../adapters/kube/node-pods';
import { PoolRolloutStore } from '../../adapters/kube/pool-rollouts';
import { MACHINE_CONFIGS } from '../../adapters/kube/resources';
import { EventQueue, EventWriter } from '../../adapters/kube/events';
import { MachineConfigNodeWriter, NodeWriter, PoolWriter } from '../../adapters/kube/writers';
import { fail, failureName, messageOf } from '../../core/errors';
import { SEARCH_ATTRIBUTE_NAMES } from '../../workflows/contracts/search-attributes';
import { CLUSTER_QUEUE, FIELD_MANAGER, STEP_QUEUE } from '../../core/names';
import { createWorkerMetrics, type WorkerMetrics } from './metrics';
import type { ClusterWorkerSettings } from './settings';
import { freeLoopbackPort, startHealthServer } from '../../process/health-server';
import { createLogger, type Logger } from '../../process/logging';
import { NodeUpdates } from '../../process/temporal/node-updates';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { TemporalConnection, tellSilence } from '../../process/temporal/connection';
import {
  dataConverter,
  FAILURE_CONVERTER,
  payloadCodec,
} from '../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import {
  type ConnectionOptions,
  connectionOptions,
} from '../../process/temporal/connection-options';
import { OrderKeyKeeper } from './orders/order-key-keeper';
import { confirmWith } from './orders/shown-cluster';
import { signingCodec } from './orders/sign-orders';
import { UNREPLAYABLE_FAILS } from './unreplayable';
import { untilAvailable } from '../../process/until-available';
import { whenAborted } from '../../process/when-aborted';

/** One for each pool, as a rule. */
const STEPS_AT_ONCE = 50;

/** For an embedding process. */
interface ClusterWorkerOptions {
  readonly log?: Logger;
  /** Called once the worker polls, with the address of its metrics. */
  readonly onReady?: (metricsUrl: string) => void;
}

/**
 * Runs until the signal aborts, then lets activities end within `shutdownGraceSeconds`. Waits for
 * absent servers.
 *
 * @throws `McoPresent` when the Machine Config Operator manages this cluster
 * @throws an `Error` naming the file when a kubeconfig or a certificate is unreadable
 */
export async function runClusterWorker(
  settings: ClusterWorkerSettings,
  signal: AbortSignal,
  options: ClusterWorkerOptions = {},
): Promise<void> {
  const log = options.log ?? createLogger({ process: 'cluster-worker', level: settings.logLevel });
  const core = `127.0.0.1:${await freeLoopbackPort()}`;
  const kube = await connectKube({ ...kubeSettings(settings), log });
  const caches = createClusterCaches(log);
  const metrics = createWorkerMetrics(caches);
  const state: WorkerState = { kube, caches, metrics, log, waitingFor: new Set(['start']) };
  const health = await startHealthServer({
    host: settings.metricsHost,
    port: settings.metricsPort,
    registry: metrics.registry,
    moreMetrics: `http://${core}/metrics`,
    waitingFor: () => waitsOf(state),
    deathSentence: () => state.link?.deathSentence(),
  });
  log.info({ server: kube.server, metrics: health.url }, 'cluster worker starting');
  const watching = new AbortController();
  try {
    await serve(settings, state, {
      signal,
      watching,
      sdkMetrics: core,
      onReady: () => options.onReady?.(health.url),
    });
  } catch (error) {
    // The signal interrupted a wait; any other error ends the worker.
    if (!signal.aborted) throw error;
  } finally {
    watching.abort();
    await health.close();
    kube.close();
    log.info({}, 'cluster worker stopped');
  }
}

interface WorkerState {
  readonly kube: KubeClient;
  readonly caches: ClusterCaches;
  readonly metrics: WorkerMetrics;
  readonly log: Logger;
  /** Named by `/readyz`. */
  readonly waitingFor: Set<string>;
  /** Undefined before Temporal's first answer. */
  link?: TemporalConnection<NativeConnection>;
}

function waitsOf({ kube, link, waitingFor }: WorkerState): readonly string[] {
  return [
    ...new Set([
      ...waitingFor,
      ...(kube.isAway ? ['the Kubernetes API'] : []),
      ...(link?.waitingFor() ?? []),
    ]),
  ];
}

interface Serving {
  readonly signal: AbortSignal;
  /** Ended after the last activity. */
  readonly watching: AbortController;
  /** `host:port` where the SDK serves its own metrics. */
  readonly sdkMetrics: string;
  readonly onReady: () => void;
}

async function serve(
  settings: ClusterWorkerSettings,
  state: WorkerState,
  { signal, watching, sdkMetrics, onReady }: Serving,
): Promise<void> {
  const { kube, caches, log, waitingFor } = state;
  const codec = codecOf(settings, log);
  become(waitingFor, 'the Kubernetes API');
  if (!settings.allowMco) await refuseBesideMco(kube, log, signal);
  const watches = runCaches(caches, kube, watching.signal);
  become(waitingFor, 'the first list of the cluster');
  await Promise.race([whenCachesSynced(caches), whenAborted(signal)]);
  signal.throwIfAborted();
  log.info(
    { nodes: caches.nodes.size, pools: caches.pools.size },
    'cache of the cluster is complete',
  );
  const orderKey = new OrderKeyKeeper({ kube, log, namespace: settings.namespace });
  become(waitingFor, orderKey.text);
  const keeping = await orderKey.start(AbortSignal.any([signal, watching.signal]));
  become(waitingFor, `Temporal at ${settings.temporalAddress}`);
  const identity = `cluster-worker@${hostname()}-${process.pid}`;
  installTemporalRuntime(log, sdkMetrics);
  const link = await TemporalConnection.open(linkOptions(settings, log), signal);
  state.link = link;
  become(waitingFor, 'the start of the worker');
  const ended = new AbortController();
  const contact = link.watch(ended.signal, tellSilence(settings.temporalAddress, log));
  try {
    const client = new Client({
      connection: link,
      namespace: settings.temporalNamespace,
      identity,
      dataConverter: dataConverter(codec),
    });
    const ports = portsOf(state, client);
    await pollUntilAborted(settings, {
      activities: state.metrics.timed(clusterActivitiesForWorker(ports)),
      stepActivities: state.metrics.timed(stepActivitiesForWorker(ports)),
      signing: orderCodec(state, ports, orderKey),
      converter: dataConverter(codec),
      identity,
      link,
      log,
      signal,
      waitingFor,
      onReady,
    });
  } finally {
    ended.abort();
    await contact;
    await link.close();
  }
  watching.abort();
  await Promise.all([watches, keeping.ended]);
}

function codecOf({ payloadKeys }: ClusterWorkerSettings, log: Logger): PayloadCodec | undefined {
  if (payloadKeys !== undefined) return payloadCodec(new PayloadKeyFiles(payloadKeys, { log }));
  log.info({}, 'payloads are readable in Temporal: payloadKeys is not set');
  return undefined;
}

function orderCodec(
  { kube, log }: WorkerState,
  { view, configs }: ClusterPorts,
  orderKey: OrderKeyKeeper,
): PayloadCodec {
  const confirm = confirmWith({ view, configs, kube });
  return signingCodec({
    signer: () => orderKey.key,
    confirm,
    onRefused: ({ orderId, node, config }, because) => {
      log.warn({ orderId, node, config: config.name, because }, 'order not signed');
    },
  });
}

async function refuseBesideMco(kube: KubeClient, log: Logger, signal: AbortSignal): Promise<void> {
  const found = await untilAvailable('the Kubernetes API', () => findMco(kube), {
    log,
    signal,
    isHopeless: (error) => {
      const name = failureName(error);
      return name !== 'ApiUnavailable' && name !== 'ApiForbidden';
    },
  });
  if (found === undefined) return;
  throw fail(
    'McoPresent',
    `the Machine Config Operator manages this cluster (${found} exists), and two of them would fight over its nodes`,
    { found },
  );
}

function linkOptions(settings: ClusterWorkerSettings, log: Logger) {
  return {
    address: settings.temporalAddress,
    namespace: settings.temporalNamespace,
    searchAttributes: SEARCH_ATTRIBUTE_NAMES,
    read: () => connectionOptions(settings),
    connect: (target: ConnectionOptions) => NativeConnection.connect(target),
    log,
  };
}

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
async function pollUntilAborted(settings: ClusterWorkerSettings, polling: Polling): Promise<void> {
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
  const runs = workers.map((worker) => worker.run().finally(stop));
  if (signal.aborted) stop();
  else signal.addEventListener('abort', stop);
  try {
    const ended = await Promise.allSettled(runs);
    for (const run of ended) if (run.status === 'rejected') throw run.reason;
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
  const common = {
    connection: link.connection,
    identity,
    namespace: settings.temporalNamespace,
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

function portsOf({ kube, caches, metrics, log }: WorkerState, client: Client): ClusterPorts {
  const manager = FIELD_MANAGER.CLUSTER_WORKER;
  const waker = new RolloutWaker(client.workflow);
  return {
    view: caches,
    nodes: new NodeWriter(kube, caches.nodes, manager),
    machineConfigNodes: new MachineConfigNodeWriter(kube, caches.machineConfigNodes, manager),
    pools: new PoolWriter(kube, caches.pools, manager),
    pods: new NodePods(kube, log),
    configs: { read: (name) => kube.get(MACHINE_CONFIGS, { name }) },
    poolRollouts: new PoolRolloutStore(kube, manager),
    nodeUpdates: new NodeUpdates(client),
    rollouts: {
      wake: (pool, seen) => {
        waker.wake(pool, seen).catch((error: unknown) => {
          const text = 'the rollout was not woken; it looks again by itself in ten seconds';
          log.warn({ pool, reason: messageOf(error) }, text);
        });
      },
    },
    events: new EventQueue(new EventWriter(kube, manager), log),
    run: metrics.watched(currentRun),
    now: Date.now,
  };
}

function kubeSettings(settings: ClusterWorkerSettings) {
  const { kubeconfig, context } = settings;
  return {
    userAgent: FIELD_MANAGER.CLUSTER_WORKER,
    maxRequests: settings.maxKubeRequests,
    environment: process.env,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
}

function become(waitingFor: Set<string>, what: string): void {
  waitingFor.clear();
  waitingFor.add(what);
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
