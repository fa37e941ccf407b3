/** Machines join, their Nodes are deleted and registered again, and they change their pool. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { postNodes } from '../../tools/cluster/nodes';
import type { ObservedNode } from '../observer/observed';
import { type Observer, startObserver } from '../observer/observer';
import { until } from '../observer/until';
import type { StepResult } from '../../workflows/contracts/rollout';
import { SEARCH_ATTRIBUTE } from '../../workflows/contracts/search-attributes';
import { filledExample } from '../unit/deploy/filled-examples';
import { cordonsOf, markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { PATIENCE_MS } from './machine/deadline';
import type { Machine } from './machine/machine';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { POOL } from './support/fleet';
import { installMachine } from './support/new-machine';
import { CURRENT_CONFIG, startWorld, STATE, STORY_MS, type World } from './support/world';
import { withTemporalClient } from '../../tools/temporal';

const NEW = `${POOL}-1`;
/** Rollouts take the oldest Node first. */
const FIRST = `${POOL}-0`;
const LATE = `${POOL}-2`;
const OTHER_POOL = 'infra';

let world: World;
let joining: Machine;
let late: Machine;
let ofLate: Observer;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  ofLate = await lifetime.own(
    () =>
      startObserver({
        kubeconfig: world.fleet.cluster.adminKubeconfig,
        nodeSelector: `kubernetes.io/hostname=${LATE}`,
      }),
    (started) => started.stop(),
  );
});

const role = (pool: string): string => `node-role.kubernetes.io/${pool}`;
const relabel = (node: string, labels: Readonly<Record<string, string | null>>) =>
  world.api.call('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels } });

/** As a kubelet does, with a label added. */
async function register(node: string): Promise<void> {
  const labels = { 'kubernetes.io/hostname': node, [role(POOL)]: '' };
  await postNodes(world.api, [{ name: node, labels }]);
  await world.until(`${node} is seen`, () => world.record.node(node) !== undefined);
}

async function unregister(node: string): Promise<void> {
  await world.api.call('DELETE', `/api/v1/nodes/${node}`);
  await world.until(`${node} is gone`, () => world.record.node(node) === undefined);
}

function endOf<T>(workflowId: string): Promise<T> {
  return withTemporalClient(world.fleet.temporal, async ({ workflow }) => {
    return (await workflow.getHandle(workflowId).result()) as T;
  });
}

/** How many there were, however they ended. */
function updatesOf(node: string, config: string): Promise<number> {
  const query = `WorkflowId = '${updateNodeId(node)}' AND ${SEARCH_ATTRIBUTE.config.name} = '${config}'`;
  return withTemporalClient(world.fleet.temporal, async ({ workflow }) => {
    return (await workflow.count(query)).count;
  });
}

test(
  'it gets image and kernel arguments with one reboot, and is a member without another one',
  async () => {
    const { fleet } = world;
    const config = await world.roll(
      hostConfig('50-second', {
        osImageURL: fleet.images.v2,
        kernelArguments: ['nosmt'],
        files: [plainFile('/etc/story.conf', 'of the story\n')],
      }),
    );
    await world.allUpdatedTo(config);
    const mark = markOf(world.record);

    joining = await installMachine(world, NEW, 2);
    const machine = joining;
    await machine.launcher.powerOn();
    await relabel(NEW, { [role(POOL)]: '' });
    await world.until(`${NEW} is seen`, () => world.record.node(NEW) !== undefined);
    await world.allUpdatedTo(config, [FIRST, NEW]);

    expect(machine.launcher.boots()).toBe(2);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await machine.output('cat', '/proc/cmdline')).toContain('nosmt');
    expect(await machine.output('cat', '/etc/story.conf')).toBe('of the story\n');
    // The kubelet has never run on the installed image.
    const boot = world.node(NEW).bootID;
    const reported = world.record.changes.slice(mark).filter(({ node }) => node.name === NEW);
    expect(new Set(reported.map(({ node }) => node.bootID))).toEqual(new Set(['', boot]));
    expect(reported.some(({ node }) => node.unschedulable)).toBe(false);
    expect(
      (await machine.run('test', '-e', '/etc/ignition-machine-config-encapsulated.json')).status,
    ).not.toBe(0);
    expect(await machine.output('slipway', 'host', 'status')).toContain(config);
  },
  STORY_MS,
);

test(
  'a Node is deleted in the middle of its update: that ends, the other gets a grant, the machine joins anew',
  async () => {
    const config = await world.roll(
      hostConfig('60-third', {
        kernelArguments: ['audit=0'],
        files: [plainFile('/etc/third', 'x')],
      }),
    );
    await world.until(`${FIRST} is out of service`, () => world.node(FIRST).unschedulable);
    expect(world.node(NEW).annotations[CURRENT_CONFIG]).not.toBe(config);

    await unregister(FIRST);
    await expect(endOf(updateNodeId(FIRST))).rejects.toMatchObject({
      cause: { type: 'NodeDeleted' },
    });
    await world.allUpdatedTo(config, [NEW]);
    expect(await joining.output('cat', '/etc/third')).toBe('x');

    await register(FIRST);
    await world.machine.run('systemctl', 'restart', 'kubelet.service');
    await world.allUpdatedTo(config, [FIRST, NEW]);
    expect(await world.machine.output('cat', '/etc/third')).toBe('x');
  },
  STORY_MS,
);

test(
  'its Node is registered anew while it runs: it says at once what it is on, also in a paused pool',
  async () => {
    const config = world.target();
    await world.atRest(NEW);
    const boots = joining.launcher.boots();
    const pause = ['rollout', 'pause', POOL, '--reason', 'nobody is here'];
    expect(await world.slipway(...pause)).toMatchObject({ code: 0 });
    await world.until('the pool is paused', () => world.record.pool(POOL)?.paused === true);
    await unregister(NEW);
    const mark = markOf(world.record);

    await register(NEW);
    await joining.output('systemctl', 'restart', 'kubelet.service');

    await world.allUpdatedTo(config, [FIRST, NEW]);
    expect(world.record.pool(POOL)?.paused).toBe(true);
    expect(wasEverCordoned(world.record, NEW, mark)).toBe(false);
    expect(joining.launcher.boots()).toBe(boots);
    expect(await world.slipway('rollout', 'resume', POOL)).toMatchObject({ code: 0 });
    await world.until('the pool goes on', () => world.record.pool(POOL)?.paused === false);
  },
  STORY_MS,
);

const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

/** Its budget blocks the drain. @returns removes the budget */
async function hold(node: string): Promise<() => Promise<unknown>> {
  const { manifests } = world.fleet;
  const app = 'anchor';
  const metadata = { name: app, namespace: 'default' };
  await manifests.applyObject({
    ...{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata },
    spec: { minAvailable: 1, selector: { matchLabels: { app } } },
  } as object);
  await manifests.applyObject({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, labels: { app } } },
    spec: {
      nodeName: node,
      hostNetwork: true,
      terminationGracePeriodSeconds: 2,
      containers: [{ name: app, image: 'images.test/workload:1', imagePullPolicy: 'IfNotPresent' }],
    },
  } as object);
  await world.until(`the pod on ${node} is ready`, () =>
    world.record.pods.some((pod) => pod.app === app && pod.ready && pod.node === node),
  );
  return () => world.api.call('DELETE', `${BUDGETS}/${app}`);
}

/** Each time that the status of the pool changes. */
function countsOf(pool: string): () => readonly number[] {
  const counts: number[] = [];
  world.record.onChange(() => {
    const now = world.record.pool(pool)?.counts['machineCount'] ?? 0;
    if (counts.at(-1) !== now) counts.push(now);
  });
  return () => counts;
}

function untilLate(what: string, holds: (node: ObservedNode) => boolean): Promise<void> {
  const holdsNow = (): boolean => {
    const node = ofLate.record.node(LATE);
    return node !== undefined && holds(node);
  };
  return until(ofLate.record, `${LATE} ${what}`, holdsNow, PATIENCE_MS);
}

test(
  'it joins in the middle of a rollout: on the config that is served, updated in its turn, and counted once',
  async () => {
    const before = world.target();
    const all = [FIRST, NEW, LATE];
    const letGo = await hold(FIRST);
    const mark = markOf(world.record);
    const counts = countsOf(POOL);
    const config = await world.roll(
      hostConfig('70-fourth', { files: [plainFile('/etc/fourth', 'x')] }),
    );
    await world.until('the rollout is in the middle', () => {
      return world.node(FIRST).unschedulable;
    });

    late = await installMachine(world, LATE, 3);
    await late.launcher.powerOn();
    // Otherwise its new pool has one more unavailable node.
    await untilLate('is Ready', ({ ready }) => ready);
    await relabel(LATE, { [role(POOL)]: '' });
    await world.until(`${LATE} is counted, and its host has reported`, () => {
      const { record } = world;
      const isHeard = record.machineConfigNode(LATE)?.conditions['Drifted'] !== undefined;
      return isHeard && record.node(LATE) !== undefined && counts().at(-1) === all.length;
    });
    const joined = markOf(world.record);
    const boots = late.launcher.boots();
    expect(await late.output('slipway', 'host', 'status')).toContain(before);
    expect((await late.run('test', '-e', '/etc/fourth')).status).not.toBe(0);
    expect(cordonsOf(world.record, mark)).toEqual([FIRST]);

    await letGo();
    await world.allUpdatedTo(config, all);

    expect([...cordonsOf(world.record, mark)].sort()).toEqual(all);
    expect(rebootsOf(world.record, LATE, joined)).toEqual([config]);
    expect(late.launcher.boots()).toBe(boots + 1);
    expect(await late.output('cat', '/etc/fourth')).toBe('x');
    const ended = await endOf<StepResult>(poolRolloutId(POOL));
    expect(ended).toMatchObject({ config, state: 'Completed', updated: '3 of 3' });
    await expect(updatesOf(LATE, config)).resolves.toBe(1);
    await world.until('the pool counts all of them', () => isAll(POOL, all.length));
    expect(counts()).toEqual([2, 3]);
  },
  STORY_MS,
);

/** So many machines, all on the pool's config. */
function isAll(pool: string, machines: number): boolean {
  const { machineCount, updatedMachineCount } = world.record.pool(pool)?.counts ?? {};
  return machineCount === machines && updatedMachineCount === machines;
}

test(
  'its label says another pool: it is updated to the config of that, and counted there alone',
  async () => {
    const { manifests } = world.fleet;
    await manifests.applyObject({
      ...{ apiVersion: 'slipway.dev/v1alpha1', kind: 'RolloutPolicy' },
      ...{ metadata: { name: OTHER_POOL }, spec: { verify: { readySeconds: 1 } } },
    });
    await manifests.apply(filledExample('infra-file.yaml'));
    await manifests.applyFiles('deploy/samples/pool-infra.yaml');
    const target = () => world.record.pool(OTHER_POOL)?.target ?? '';
    await world.until('the other pool is rendered', () => target() !== '');
    const [mark, marked] = [markOf(world.record), markOf(ofLate.record)];
    const [boots, before] = [late.launcher.boots(), world.target()];

    await relabel(LATE, { [role(POOL)]: null, [role(OTHER_POOL)]: '' });
    await untilLate(`is on ${target()}`, ({ annotations, ready, unschedulable }) => {
      const isThere = annotations[CURRENT_CONFIG] === target() && annotations[STATE] === 'Done';
      return isThere && ready && !unschedulable;
    });

    expect(await late.output('cat', '/etc/sysctl.d/95-ingress.conf')).toContain('somaxconn');
    expect(await late.output('cat', '/etc/fourth')).toBe('x');
    expect(await late.output('slipway', 'host', 'status')).toContain(target());
    expect(late.launcher.boots()).toBe(boots + 1);
    expect(cordonsOf(ofLate.record, marked)).toEqual([LATE]);
    expect(rebootsOf(ofLate.record, LATE, marked)).toEqual([target()]);
    expect(ofLate.record.violations).toEqual([]);
    // The old pool had nothing to do.
    expect(world.target()).toBe(before);
    expect(cordonsOf(world.record, mark)).toEqual([]);
    await world.until('each pool counts its own', () => {
      return isAll(POOL, 2) && isAll(OTHER_POOL, 1);
    });
    const path = `/apis/machineconfiguration.openshift.io/v1/machineconfignodes/${LATE}`;
    expect(await world.api.call('GET', path)).toMatchObject({
      spec: { pool: { name: OTHER_POOL } },
    });
  },
  STORY_MS,
);
