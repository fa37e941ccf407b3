/**
 * `npm run bench -- evictions`: how often a rollout evicts the same pods, with and without the
 * taint on nodes that will be drained. Scheduler and controller manager are real. For the rollout
 * without the taint, the pods tolerate it.
 */

import type { KubernetesObject } from '@kubernetes/client-node';
import { startObserver } from '../test/observer/observer';
import type { ObserverProcess } from '../test/observer/own-process';
import type { RolloutRecord } from '../test/observer/record';
import { describeViolation } from '../test/observer/violation';
import type { Stack } from '../tools/stack/stack';
import { NAMESPACE } from '../tools/stack/workloads';
import {
  judgeOf,
  rebootingConfig,
  startSimulatedPool,
  WORKERS,
  type SimulatedPoolOptions,
} from './simulated-pool';
import { whatTheRolloutSays } from './standstill';

interface EvictionsOptions extends SimulatedPoolOptions {
  readonly pods: number;
}

interface EvictionsResult {
  readonly nodes: number;
  readonly maxUnavailable: number;
  readonly pods: number;
  /** Of the promises in docs/reliability.md. */
  readonly violations: readonly string[];
  readonly rows: readonly EvictionsRow[];
}

type Taint = 'without' | 'with';

interface EvictionsRow {
  readonly taint: Taint;
  readonly evictions: number;
  /** At least 1: each pod runs on a node that is drained. */
  readonly perPod: number;
}

const APPS = ['web', 'api', 'queue', 'cache', 'jobs'];
const CURRENT_CONFIG = 'machineconfiguration.openshift.io/currentConfig';

/** Longer than a busy machine takes to place all pods. */
const PATIENCE_MS = 300_000;

/**
 * Starts and stops everything for each rollout, which must not begin where another has put the
 * pods.
 */
export async function runEvictionsBench(options: EvictionsOptions): Promise<EvictionsResult> {
  const { nodes, maxUnavailable, pods, onStep } = options;
  const rows: EvictionsRow[] = [];
  const violations: string[] = [];
  for (const taint of ['without', 'with'] as const) {
    onStep(`a rollout ${taint} the taint`);
    const seen = await rollOnce(taint, options);
    rows.push({ taint, evictions: seen.evictions, perPod: seen.evictions / pods });
    violations.push(...seen.violations);
  }
  return { nodes, maxUnavailable, pods, violations, rows };
}

interface Seen {
  readonly evictions: number;
  readonly violations: readonly string[];
}

async function rollOnce(taint: Taint, options: EvictionsOptions): Promise<Seen> {
  const stack = await startSimulatedPool(options);
  try {
    const judge = await judgeOf(stack, options.maxUnavailable);
    try {
      return await measure(stack, { judge, taint, options });
    } finally {
      // Otherwise this process waits for the observer for ever.
      await judge.stop();
    }
  } finally {
    await stack.stop();
  }
}

interface Measuring {
  readonly judge: ObserverProcess;
  readonly taint: Taint;
  readonly options: EvictionsOptions;
}

async function measure(stack: Stack, { judge, taint, options }: Measuring): Promise<Seen> {
  const { nodes, maxUnavailable, pods, onStep } = options;
  const { record, stop } = await startObserver({
    kubeconfig: stack.cluster.adminKubeconfig,
    nodeSelector: WORKERS,
  });
  try {
    onStep(`placing ${pods} pods`);
    await place(stack, pods, taint);
    await until(stack, record, () => record.pods.filter(({ ready }) => ready).length === pods);
    onStep(`rolling ${nodes} nodes, ${maxUnavailable} at a time`);
    await roll(stack, record, Math.ceil(nodes / maxUnavailable));
    await judge.rest();
    return { evictions: record.evictions, violations: judge.violations.map(describeViolation) };
  } finally {
    stop();
  }
}

async function place({ manifests }: Stack, pods: number, taint: Taint): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  await manifests.applyObject(namespace);
  for (const [index, app] of APPS.entries()) {
    const replicas = Math.floor((pods + APPS.length - 1 - index) / APPS.length);
    await manifests.applyObject(deployment(app, replicas, taint));
  }
}

async function roll(stack: Stack, record: RolloutRecord, batches: number): Promise<void> {
  const old = new Set(record.nodes.map(({ annotations }) => annotations[CURRENT_CONFIG]));
  await stack.manifests.applyObject(rebootingConfig());
  const isDone = (): boolean =>
    record.pods.every(({ ready }) => ready) &&
    record.nodes.every(
      ({ annotations, unschedulable }) => !unschedulable && !old.has(annotations[CURRENT_CONFIG]),
    );
  await until(stack, record, isDone, batches * PATIENCE_MS);
}

async function until(
  stack: Stack,
  record: RolloutRecord,
  holds: () => boolean,
  patienceMs = PATIENCE_MS,
): Promise<void> {
  if (holds()) return;
  const isOver = await new Promise<boolean>((resolve) => {
    const finish = (is: boolean): void => {
      clearTimeout(stuck);
      stop();
      resolve(is);
    };
    const stop = record.onChange(() => {
      if (holds()) finish(true);
    });
    const stuck = setTimeout(() => finish(false), patienceMs);
  });
  if (!isOver) throw new Error(`stuck: ${await whatTheRolloutSays(stack)}`);
}

/** Without rules of its own, so that Kubernetes spreads the pods by its defaults. */
function deployment(app: string, replicas: number, taint: Taint): KubernetesObject {
  const labels = { app };
  const tolerations = [{ key: 'UpdateInProgress', operator: 'Exists' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app, namespace: NAMESPACE, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { 'pod-delete.stage.kwok.x-k8s.io/delay': '300ms' } },
        spec: {
          ...(taint === 'without' ? { tolerations } : {}),
          containers: [{ name: app, image: `registry.example.com/shop/${app}:1` }],
        },
      },
    },
  } as KubernetesObject;
}
