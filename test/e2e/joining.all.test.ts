/** Nodes join, leave and move while a config rolls through a big pool. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { createNodes } from '../../tools/cluster';
import { type Observer, startObserver } from '../observer/observer';
import type { ObserverProcess } from '../observer/own-process';
import { until } from '../observer/until';
import { type Stack, startStack } from '../../tools/stack/stack';
import { machineConfig, plainFile } from './support/configs';
import { judgeDisks } from './support/disk-at-rest';
import { hearVerdict, startJudge } from './support/verdict';
import { CURRENT_CONFIG, DESIRED_CONFIG, START_MS, STATE, STOP_MS } from './support/world';
import { temporalClient } from '../../tools/temporal';

const GROUP = 'machineconfiguration.openshift.io';
const WORKERS = 60;
const MAX_OUT = 5;
const INFRA_MAX_OUT = 2;
const EACH = 5;
const PATIENCE_MS = 400_000;

const ROLE = 'node-role.kubernetes.io';

let stack: Stack;
/** One observer per pool: a node moves from one pool to the other. */
let workers: Observer;
let infra: Observer;
const judges: ObserverProcess[] = [];
let client: Client;

/** Nodes whose hosts exist before the pool knows them. */
const JOINERS = range(WORKERS - EACH, WORKERS);

const INFRA_POOL = {
  apiVersion: `${GROUP}/v1`,
  kind: 'MachineConfigPool',
  metadata: { name: 'infra' },
  spec: {
    maxUnavailable: INFRA_MAX_OUT,
    machineConfigSelector: {
      matchExpressions: [{ key: `${GROUP}/role`, operator: 'In', values: ['worker', 'infra'] }],
    },
    nodeSelector: { matchLabels: { [`${ROLE}/infra`]: '' } },
  },
};

function range(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => `worker-${from + index}`);
}

beforeAll(async () => {
  stack = await startStack({
    nodes: { master: 1, worker: WORKERS },
    zones: 3,
    maxUnavailable: MAX_OUT,
    policy: { canary: { nodes: 1 }, failureThreshold: 3, verify: { readySeconds: 0 } },
    simulation: {
      ...{ stageSeconds: 0.1, applySeconds: 0.1, rebootSeconds: 1.5, jitter: 0.2 },
      failures: [],
    },
    workloads: [],
    temporalUi: false,
    audit: true,
  });
  const { admin, adminKubeconfig } = stack.cluster;
  // The hosts of these machines run; their Nodes come later.
  for (const name of JOINERS) await admin.call('DELETE', `/api/v1/nodes/${name}`);
  await stack.manifests.applyObject(INFRA_POOL);
  const ofInfra = machineConfig('50-infra', { files: [plainFile('/etc/infra', 'infra\n')] });
  await stack.manifests.applyObject({
    ...ofInfra,
    metadata: { ...ofInfra.metadata, labels: { [`${GROUP}/role`]: 'infra' } },
  });
  const { cluster, temporal } = stack;
  const watch = async (
    pool: string,
    limits: { readonly nodeSelector: string; readonly maxUnavailable: number },
  ): Promise<Observer> => {
    judges.push(await startJudge({ ...limits, pool, cluster, temporal }));
    return startObserver({ ...limits, kubeconfig: adminKubeconfig });
  };
  const ofWorkers = `${ROLE}/worker,!${ROLE}/infra`;
  workers = await watch('worker', { nodeSelector: ofWorkers, maxUnavailable: MAX_OUT });
  infra = await watch('infra', { nodeSelector: `${ROLE}/infra`, maxUnavailable: INFRA_MAX_OUT });
  client = await temporalClient(stack.temporal);
}, START_MS);

afterAll(async () => {
  try {
    for (const judge of judges) await hearVerdict(judge);
    if (stack !== undefined) await judgeDisks(api(), stack.hostRoot);
  } finally {
    workers?.stop();
    infra?.stop();
    await client?.connection.close();
    await stack?.stop();
  }
}, STOP_MS);

const api = () => stack.cluster.admin;
const label = (node: string, role: string) =>
  api().call('PATCH', `/api/v1/nodes/${node}`, {
    metadata: { labels: { [`${ROLE}/${role}`]: '' } },
  });
const targetOf = (observer: Observer, pool: string) => observer.record.pool(pool)?.target ?? '';
const nodesOn = ({ record }: Observer, config: string): readonly string[] =>
  record.nodes
    .filter(({ annotations: said, ready, unschedulable }) => {
      const isThere = said[CURRENT_CONFIG] === config && said[DESIRED_CONFIG] === config;
      return isThere && said[STATE] === 'Done' && ready && !unschedulable;
    })
    .map(({ name }) => name);
const cordoned = ({ record }: Observer): readonly string[] =>
  record.nodes.filter(({ unschedulable }) => unschedulable).map(({ name }) => name);
const wasEverOn = ({ record }: Observer, name: string, config: string): boolean =>
  record.changes.some(
    ({ node }) => node.name === name && node.annotations[CURRENT_CONFIG] === config,
  );
/** Nodes that are cordoned now, the latest first: these have the most steps left. */
function lastCordoned({ record }: Observer): readonly string[] {
  const now = new Set(record.nodes.filter((node) => node.unschedulable).map(({ name }) => name));
  const newest = record.changes
    .filter(({ node, previous }) => node.unschedulable && previous?.unschedulable === false)
    .map(({ node }) => node.name)
    .reverse();
  return [...new Set(newest)].filter((name) => now.has(name));
}

/** Nodes to delete or move: during their updates, after them, and before them. */
interface Chosen {
  readonly target: string;
  readonly cut: readonly string[];
  readonly moving: string;
  readonly done: string;
  readonly untouched: readonly string[];
}

const NOBODY: Chosen = { target: '', cut: [], moving: '', done: '', untouched: [] };

/**
 * Chosen from one state of the record, at the time of a change, because nodes may finish soon. Undefined = too few
 * are done or at work.
 */
function choose(before: string): Chosen | undefined {
  const target = targetOf(workers, 'worker');
  const [first, second, moving] = lastCordoned(workers);
  const [done, ...others] = target === before ? [] : nodesOn(workers, target);
  if (first === undefined || second === undefined || moving === undefined) return undefined;
  if (done === undefined || others.length < 2) return undefined;
  const untouched = workers.record.nodes
    .filter(({ annotations }) => annotations[DESIRED_CONFIG] === before)
    .map(({ name }) => name)
    .sort((one, other) => Number(other.split('-')[1]) - Number(one.split('-')[1]));
  return { target, cut: [first, second], moving, done, untouched };
}

test(
  'five join, five go and five move during one rollout of sixty, and everybody ends on their config',
  async () => {
    const before = targetOf(workers, 'worker');
    // Ready, but without the label: in no pool yet.
    await createNodes(
      stack.cluster,
      JOINERS.map((name) => ({ name })),
    );
    await stack.manifests.applyObject(
      machineConfig('50-story', {
        kernelArguments: ['nosmt'],
        files: [plainFile('/etc/story', 'rolled\n')],
      }),
    );
    let chosen: Chosen | undefined;
    await until(
      workers.record,
      'the rollout has done a few and is at work on others',
      () => {
        chosen = choose(before);
        return chosen !== undefined;
      },
      PATIENCE_MS,
    );
    const { target, cut: started, done, moving, untouched } = chosen ?? NOBODY;
    const gone = [...started, done, ...untouched.slice(0, 2)];
    const moved = [moving, ...untouched.slice(2, 6)];
    const changing = [
      ...gone.map((name) => api().call('DELETE', `/api/v1/nodes/${name}`)),
      ...moved.map((name) => label(name, 'infra')),
      ...JOINERS.map((name) => label(name, 'worker')),
    ];
    await Promise.all(changing);

    const expected = WORKERS - 2 * EACH;
    await until(
      workers.record,
      `${expected} workers are on ${target}`,
      () =>
        nodesOn(workers, target).length === expected && workers.record.nodes.length === expected,
      PATIENCE_MS,
    );
    const infraTarget = targetOf(infra, 'infra');
    await until(
      infra.record,
      `${EACH} nodes are on ${infraTarget}`,
      () => nodesOn(infra, infraTarget).length === EACH,
      PATIENCE_MS,
    ).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await openWorkflows()}`);
    });

    expect(infraTarget).not.toBe(target);
    expect([...nodesOn(infra, infraTarget)].sort()).toEqual([...moved].sort());
    expect(nodesOn(workers, target)).toEqual(expect.arrayContaining([...JOINERS]));
    expect([...workers.record.violations, ...infra.record.violations]).toEqual([]);
    expect([...cordoned(workers), ...cordoned(infra)]).toEqual([]);
    await expectRolloutsOver();
    await expectStatuses({ worker: expected, infra: EACH });
    // On a busy machine they may have finished just before their Nodes were deleted.
    const cut = started.filter((name) => !wasEverOn(workers, name, target));
    expect(await Promise.all(cut.map(failureOf))).toEqual(cut.map(() => 'NodeDeleted'));
    await expectMachineConfigNodes(gone);
  },
  PATIENCE_MS + 120_000,
);

test('a node of a machine that is on the config already is a member at once, without a reboot', async () => {
  const target = targetOf(workers, 'worker');
  const [name = ''] = JOINERS;
  const { bootID } = workers.record.node(name) ?? {};
  await api().call('DELETE', `/api/v1/nodes/${name}`);
  await until(workers.record, `${name} is gone`, () => workers.record.node(name) === undefined);
  const seen = workers.record.changes.length;

  // As a kubelet registers it: without Slipway's annotations.
  await createNodes(stack.cluster, [{ name }]);
  await label(name, 'worker');
  await until(workers.record, `${name} is on ${target}`, () =>
    nodesOn(workers, target).includes(name),
  );

  const since = workers.record.changes.slice(seen).filter(({ node }) => node.name === name);
  expect(since.every(({ node }) => !node.unschedulable && node.ready)).toBe(true);
  expect(new Set(since.map(({ node }) => node.bootID)).has(bootID ?? '')).toBe(false);
  expect(new Set(since.map(({ node }) => node.bootID)).size).toBe(1);
  await until(
    workers.record,
    `${name} has its MachineConfigNode`,
    () => workers.record.machineConfigNode(name)?.current === target,
  );
  await expectRolloutsOver();
  expect(workers.record.violations).toEqual([]);
}, 120_000);

async function openWorkflows(): Promise<string> {
  const lines: string[] = [];
  for await (const { workflowId } of client.workflow.list({
    query: 'ExecutionStatus = "Running"',
  })) {
    const question = workflowId.startsWith('pool-rollout/') ? 'progress' : 'status';
    const status = await client.workflow
      .getHandle(workflowId)
      .query(question)
      .catch((error: unknown) => String(error));
    lines.push(`${workflowId}: ${JSON.stringify(status)}`);
  }
  return lines.join('\n');
}

/** No workflow works on a node any more or retries for ever. */
async function expectRolloutsOver(): Promise<void> {
  await waitFor('no workflow is open', async () => {
    const open = [];
    for await (const { workflowId } of client.workflow.list({
      query: 'ExecutionStatus = "Running"',
    })) {
      open.push(workflowId);
    }
    expect(open).toEqual([]);
  });
}

/** The catalogue name with which the last update of a node failed; undefined = it did not fail. */
async function failureOf(node: string): Promise<string | null | undefined> {
  const update = client.workflow.getHandle(`update-node/${node}`);
  const failure = await update.result().then(
    () => undefined,
    (error: { readonly cause?: { readonly type?: string | null } }) => error.cause,
  );
  return failure?.type;
}

async function expectStatuses(counts: Readonly<Record<string, number>>): Promise<void> {
  for (const [pool, machineCount] of Object.entries(counts)) {
    await waitFor(`pool ${pool} counts its nodes`, async () => {
      const { status } = await api().call<{ status: object }>(
        'GET',
        `/apis/${GROUP}/v1/machineconfigpools/${pool}`,
      );
      expect(status).toMatchObject({
        ...{ machineCount, updatedMachineCount: machineCount, readyMachineCount: machineCount },
        ...{ unavailableMachineCount: 0, degradedMachineCount: 0 },
      });
    });
  }
}

async function expectMachineConfigNodes(gone: readonly string[]): Promise<void> {
  await waitFor('there is a MachineConfigNode for each node and no other', async () => {
    const { items } = await api().call<{
      items: { metadata: { name: string }; spec: { pool: { name: string } } }[];
    }>('GET', `/apis/${GROUP}/v1/machineconfignodes`);
    const names = items.map(({ metadata }) => metadata.name);
    expect(names.filter((name) => gone.includes(name))).toEqual([]);
    const ofInfra = items.filter(({ spec }) => spec.pool.name === 'infra');
    expect(ofInfra.map(({ metadata }) => metadata.name).sort()).toEqual(
      infra.record.nodes.map(({ name }) => name).sort(),
    );
  });
}

/** Polls, for state that the observer does not keep. */
async function waitFor(what: string, check: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw Object.assign(error as Error, { what });
      await delay(250);
    }
  }
}
