/**
 * The cluster worker: all workflows and the cluster activities, on the shared task queue. Each
 * replica has its own cache of the cluster.
 */

import { hostname } from 'node:os';
import { Client } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { NativeConnection } from '@temporalio/worker';
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
import { FIELD_MANAGER } from '../../core/names';
import { createWorkerMetrics, type WorkerMetrics } from './metrics';
import { pollUntilAborted } from './polling';
import type { ClusterWorkerSettings } from './settings';
import { freeLoopbackPort, startHealthServer } from '../../process/health-server';
import { createLogger, type Logger } from '../../process/logging';
import { NodeUpdates } from '../../process/temporal/node-updates';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { TemporalConnection, tellSilence } from '../../process/temporal/connection';
import { dataConverter, payloadCodec } from '../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import {
  type ConnectionOptions,
  connectionOptions,
} from '../../process/temporal/connection-options';
import { OrderKeyKeeper } from './orders/order-key-keeper';
import { confirmWith } from './orders/shown-cluster';
import { signingCodec } from './orders/sign-orders';
import { untilAvailable } from '../../process/until-available';
import { whenAborted } from '../../process/when-aborted';

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
    waitsForFiles: true,
    connect: (target: ConnectionOptions) => NativeConnection.connect(target),
    log,
  };
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
