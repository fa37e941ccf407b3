/** Slipway itself is upgraded in the middle of a rollout: every process changes, no node notices. */

import { Client, Connection } from '@temporalio/client';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poolRolloutId, updateNodeId } from '../../core/names';
import { until } from '../observer/until';
import { packedVersions, unpackBuild } from '../../tools/release/packed-build';
import { repositoryRoot } from '../../tools/repository-root';
import { PRODUCT_NAMES } from '../../tools/stack/product';
import { NAMESPACE } from '../../tools/stack/workloads';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import { cordonedBySlipway, markOf, rebootsOf, unverified } from './support/judgements';
import {
  CURRENT_CONFIG,
  MAX_UNAVAILABLE,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

/** All of a rollout in one wait, on a busy machine. */
const ROLLOUT_MS = 180_000;
const ANCHOR = 'anchor';
const PROGRAM = join('dist', 'cli', 'main.js');
const POOLS = [POOL, 'master'];
const ALL = [...PRODUCT_NAMES, ...POOLS.map((pool) => `host-worker/${pool}`)];

let earlier: string;
let world: World;

beforeAll(async () => {
  earlier = await mkdtemp(join(tmpdir(), 'slipway-earlier-'));
  await unpackBuild((await packedVersions()).at(-1) ?? 'none', earlier);
  world = await startWorld({
    build: earlier,
    nodes: { master: 1, worker: 7 },
    // One zone: nodes come in the order in which they were made.
    zones: 1,
    // Long enough to be found rebooting.
    simulation: {
      stageSeconds: 0.2,
      applySeconds: 0.2,
      rebootSeconds: 4,
      jitter: 0,
      failures: [],
    },
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
  await rm(earlier, { recursive: true, force: true });
}, STOP_MS);

test(
  'a rollout that an earlier release began is finished by this one',
  async () => {
    const { product } = world.stack;
    const mark = markOf(world.record);
    const held = (await nodesByAge())[2] ?? '';
    await anchorTo(held);
    const config = await world.roll(
      machineConfig('50-upgrade', {
        kernelArguments: ['upgrade=1'],
        files: [plainFile('/etc/upgrade', 'upgrade')],
      }),
    );
    await until(
      world.record,
      `two nodes are done, ${held} drains, another one begins to reboot`,
      () =>
        doneWith(config).length >= 2 &&
        cordonedBySlipway(world.record).includes(held) &&
        hasOneJustGoneDown(),
      ROLLOUT_MS,
    );

    expect(programs()).toEqual([join(earlier, PROGRAM)]);
    const before = product.pid('cluster-worker');
    const done = doneWith(config);
    const swapped = markOf(world.record);
    await swapAllTo(repositoryRoot());
    expect(programs()).toEqual([join(repositoryRoot(), PROGRAM)]);
    await letGo();

    await until(
      world.record,
      `every worker is on ${config} and in service`,
      () =>
        doneWith(config).length === world.workers.length &&
        cordonedBySlipway(world.record).length === 0 &&
        world.record.nodes.every(({ ready, unschedulable }) => ready && !unschedulable),
      ROLLOUT_MS,
    );
    for (const node of world.workers) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
      expect(unverified(world.record, node, config, mark)).toEqual([]);
      expect(await differences(world.api, config, world.stack.hostRoot(node))).toEqual([]);
    }
    for (const node of done) expect(rebootsOf(world.record, node, swapped)).toEqual([]);
    expect(world.record.violations).toEqual([]);
    expect(world.record.maxUnavailableSeen).toBeLessThanOrEqual(MAX_UNAVAILABLE);

    // The same runs, begun by the one build and ended by the other.
    const workers = [before, product.pid('cluster-worker')];
    expect(await workersOf(poolRolloutId(POOL))).toEqual(workers);
    expect(await workersOf(updateNodeId(held))).toEqual(workers);
  },
  STORY_MS + ROLLOUT_MS,
);

/**
 * The last that happened to any node. At the end of its reboot it would be too late: a simulated machine of
 * an earlier build whose process ends between its boot and the report to the API server never reports.
 */
function hasOneJustGoneDown(): boolean {
  const last = world.record.changes.at(-1);
  return last?.node.ready === false && last.previous?.ready === true;
}

function doneWith(config: string): readonly string[] {
  return world.workers.filter((node) => world.node(node).annotations[CURRENT_CONFIG] === config);
}

/** As rollouts take them. */
async function nodesByAge(): Promise<readonly string[]> {
  const made = await Promise.all(
    world.workers.map(async (name) => {
      const node = await world.api.call<{
        readonly metadata: { readonly creationTimestamp: string };
      }>('GET', `/api/v1/nodes/${name}`);
      return { name, at: Date.parse(node.metadata.creationTimestamp) };
    }),
  );
  return made.sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1)).map(({ name }) => name);
}

/** A pod on that node whose budget lets it not go. */
async function anchorTo(node: string): Promise<void> {
  const { manifests } = world.stack;
  const labels = { app: ANCHOR };
  const metadata = { name: ANCHOR, namespace: NAMESPACE };
  const onNode = { key: 'metadata.name', operator: 'In', values: [node] };
  await manifests.applyObject({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata,
    spec: { minAvailable: 1, selector: { matchLabels: labels } },
  } as object);
  await manifests.applyObject({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchFields: [onNode] }],
              },
            },
          },
          containers: [{ name: ANCHOR, image: `registry.example.com/shop/${ANCHOR}:1` }],
        },
      },
    },
  } as object);
  await world.until(`the pod that holds ${node} is ready`, () =>
    world.record.pods.some((pod) => pod.app === ANCHOR && pod.ready && pod.node === node),
  );
}

async function letGo(): Promise<void> {
  await world.api.call(
    'PATCH',
    `/apis/policy/v1/namespaces/${NAMESPACE}/poddisruptionbudgets/${ANCHOR}`,
    { spec: { minAvailable: 0 } },
  );
}

/** All of Slipway is away for a moment, in order, as when it is upgraded. */
async function swapAllTo(build: string): Promise<void> {
  const { product } = world.stack;
  await Promise.all(ALL.map((name) => product.end(name)));
  product.useBuild(build);
  await Promise.all([
    ...PRODUCT_NAMES.map((name) => product.start(name)),
    ...POOLS.map((pool) => product.restartHosts(pool)),
  ]);
}

/** What all processes of Slipway run, each program once. */
function programs(): readonly string[] {
  const { product } = world.stack;
  const found = ALL.map((name) => {
    const [, program = ''] = readFileSync(`/proc/${product.pid(name)}/cmdline`, 'utf8').split('\0');
    return program;
  });
  return [...new Set(found)];
}

/** Process ids of the cluster workers that the last run went through, in order. */
async function workersOf(workflowId: string): Promise<readonly number[]> {
  const { address, namespace } = world.stack.temporal;
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace });
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
    const names = (events ?? []).flatMap(
      ({ workflowTaskCompletedEventAttributes: task }) => task?.identity ?? [],
    );
    return [...new Set(names)].map((name) => Number(name.split('-').at(-1)));
  } finally {
    await connection.close();
  }
}
