import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  NODES,
} from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { isReady } from '../../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { GrantProgress, NodeStep } from '../../../workflows/contracts/cluster';
import { isCordonedByPerson } from '../../../core/rollout';
import {
  applyManifest,
  eventually,
  inCache,
  startCaches,
  startKubeFixture,
  type KubeFixture,
  type RunningCaches,
} from '../kube/fixture';
import {
  activitiesFor,
  aWorker,
  DRAIN,
  giveGrants,
  playedRun,
  type PlayedRun,
  portsFor,
  stepFor,
  takeOut,
  takeOutInput,
  theWorkerPool,
  type Wake,
} from './activities-fixture';

jest.setTimeout(240_000);

const OLD = 'rendered-worker-0';
const NEW = 'rendered-worker-1';

let fixture: KubeFixture;
let running: RunningCaches;
let caches: ClusterCaches;

beforeAll(async () => {
  fixture = await startKubeFixture();
  running = await startCaches(fixture.worker, fixture.log);
  caches = running.caches;
  await theWorkerPool(fixture, caches);
});

afterAll(async () => {
  await running?.stop();
  await fixture?.stop();
});

const activities = () => activitiesFor(fixture, caches);

const readNode = (name: string): Promise<Node> => fixture.admin.get(NODES, { name });

const readMcn = (name: string): Promise<MachineConfigNode> =>
  fixture.admin.get(MACHINE_CONFIG_NODES, { name });

const onOld = {
  [ANNOTATION.CURRENT_CONFIG]: OLD,
  [ANNOTATION.DESIRED_CONFIG]: OLD,
  [ANNOTATION.STATE]: 'Done',
};

async function adopted(name: string): Promise<void> {
  await aWorker(fixture, name, onOld);
  await inCache(caches.nodes, name, () => true);
}

const cordon = (name: string) => takeOut(fixture, caches, stepFor(name, NEW));

const boot = (name: string, bootID: string) =>
  fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${name}/status`, {
    status: { nodeInfo: { bootID } },
  });

/** Its reboot is armed, which is shown. */
const rebooting = (name: string) =>
  activities().showRebooting({ ...stepFor(name, NEW), summary: 'a new kernel' });

/** The run of a later update. */
const NEXT = { id: 'run-2', startedAt: '2026-01-01T00:10:00.000Z' };

/** Field manager of `kubectl cordon`. */
const BY_PERSON = { fieldManager: 'kubectl' };

async function aNarrowPool(name: string, nodes: readonly string[]): Promise<void> {
  await applyManifest(fixture.admin, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name },
    spec: {
      maxUnavailable: 1,
      nodeSelector: { matchExpressions: [{ key: 'pool', operator: 'In', values: nodes }] },
      machineConfigSelector: {
        matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
      },
    },
  });
  await inCache(caches.pools, name, () => true);
  for (const node of nodes) await adopted(node);
}

const annotationsOf = ({ metadata }: Node): Readonly<Record<string, string>> =>
  metadata.annotations ?? {};

const conditionsOf = ({ status }: MachineConfigNode): Readonly<Record<string, string>> =>
  Object.fromEntries((status?.conditions ?? []).map(({ type, status: state }) => [type, state]));

it('targets and cordons in one write, and shows it on the MachineConfigNode', async () => {
  await adopted('cordon');

  await expect(cordon('cordon')).resolves.toEqual({ cordoned: true });

  const node = await readNode('cordon');
  expect(node.spec?.unschedulable).toBe(true);
  expect(annotationsOf(node)).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: OLD,
    [ANNOTATION.DESIRED_CONFIG]: NEW,
    [ANNOTATION.STATE]: 'Working',
    [ANNOTATION.REASON]: '',
    [ANNOTATION.CORDONED_BY]: 'update-node/cordon',
  });
  const mcn = await readMcn('cordon');
  expect(mcn.spec).toEqual({
    node: { name: 'cordon' },
    pool: { name: 'worker' },
    configVersion: { desired: NEW },
  });
  expect(mcn.metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: 'cordon' }]);
  expect(mcn.status?.configVersion).toEqual({ desired: NEW, current: OLD });
  expect(conditionsOf(mcn)).toMatchObject({
    UpdatePrepared: 'True',
    UpdateExecuted: 'Unknown',
    Cordoned: 'True',
    Drained: 'Unknown',
    Updated: 'False',
  });
});

it('sees its own write at once, and writes nothing the second time', async () => {
  await adopted('twice');
  await cordon('twice');
  expect(caches.nodes.get('twice')?.spec?.unschedulable).toBe(true);
  const [node, mcn] = [await readNode('twice'), await readMcn('twice')];

  await expect(cordon('twice')).resolves.toEqual({ cordoned: true });

  const [nodeAfter, mcnAfter] = [await readNode('twice'), await readMcn('twice')];
  expect(annotationsOf(nodeAfter)).toEqual(annotationsOf(node));
  expect(mcnAfter.metadata.resourceVersion).toBe(mcn.metadata.resourceVersion);
});

/** Takes over while the first worker is frozen, and completes the update. */
async function finishedByAnother(name: string): Promise<MachineConfigNode> {
  await activities().completeNode(stepFor(name, NEW));
  return readMcn(name);
}

it('writes no phase over what another worker has shown while this one stood still', async () => {
  await adopted('frozen');
  const run = { ...playedRun(), attemptMs: 10_000 };
  const ports = portsFor(fixture, caches, () => run);
  let skewMs = 0;
  let end: MachineConfigNode | undefined;
  const activity = createClusterActivities({
    ...ports,
    now: () => Date.now() + skewMs,
    nodes: {
      read: (name) => ports.nodes.read(name),
      refresh: () => ports.nodes.refresh(),
      change: async (name, decide) => {
        const changed = await ports.nodes.change(name, decide);
        end = await finishedByAnother(name);
        skewMs = 60_000;
        return changed;
      },
    },
  });

  await giveGrants(fixture, caches, stepFor('frozen', NEW));
  const attempt = activity.takeOutOfService(takeOutInput(stepFor('frozen', NEW)));

  await expect(attempt).resolves.toEqual({ cordoned: true });
  expect(conditionsOf(end as MachineConfigNode)).toMatchObject({ Updated: 'True' });
  expect((await readMcn('frozen')).metadata.resourceVersion).toBe(end?.metadata.resourceVersion);
});

it('reads a MachineConfigNode again that changed since the cache showed it', async () => {
  await adopted('stale-picture');
  await cordon('stale-picture');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await rebooting('stale-picture');

  await activitiesFor(fixture, stale.caches).completeNode(stepFor('stale-picture', NEW));

  expect(conditionsOf(await readMcn('stale-picture'))).toMatchObject({
    Updated: 'True',
    RebootedNode: 'False',
  });
});

it('leaves a node alone that a person cordoned, also when the cache is older than the cordon', async () => {
  await adopted('person');
  await giveGrants(fixture, caches, stepFor('person', NEW));
  // The watch is stopped first, so that the activity decides on an outdated Node.
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/person', {
    spec: { unschedulable: true },
  });
  const before = await readNode('person');

  const attempt = activitiesFor(fixture, stale.caches).takeOutOfService(
    takeOutInput(stepFor('person', NEW)),
  );

  await expect(attempt).rejects.toMatchObject({
    name: 'CordonedByUser',
    message: 'node person is cordoned, and not by Slipway; uncordon it to let it be updated',
  });
  const after = await readNode('person');
  expect(annotationsOf(after)).toEqual(annotationsOf(before));
  expect(after.spec?.unschedulable).toBe(true);
});

it('completes: currentConfig, Done and uncordoned in one write, Updated on the MachineConfigNode', async () => {
  await adopted('complete');
  await cordon('complete');
  await rebooting('complete');
  expect(conditionsOf(await readMcn('complete'))).toMatchObject({
    Drained: 'True',
    RebootedNode: 'Unknown',
  });

  await activities().completeNode(stepFor('complete', NEW));

  const node = await readNode('complete');
  expect(node.spec?.unschedulable).toBeUndefined();
  expect(annotationsOf(node)).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: NEW,
    [ANNOTATION.DESIRED_CONFIG]: NEW,
    [ANNOTATION.STATE]: 'Done',
  });
  expect(annotationsOf(node)).not.toHaveProperty([ANNOTATION.CORDONED_BY]);
  const mcn = await readMcn('complete');
  expect(mcn.status?.configVersion).toEqual({ desired: NEW, current: NEW });
  expect(conditionsOf(mcn)).toMatchObject({ Updated: 'True', RebootedNode: 'False' });
  // A late report is ignored.
  await activities().showGoingBack({ ...stepFor('complete', NEW), summary: 'late' });
  expect((await readMcn('complete')).metadata.resourceVersion).toBe(mcn.metadata.resourceVersion);
});

it('never shows an old phase over the end, also when its own cache is older than the end', async () => {
  await adopted('late');
  await cordon('late');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await activities().completeNode(stepFor('late', NEW));
  const before = await readMcn('late');

  const attempt = activitiesFor(fixture, stale.caches).showGoingBack({
    ...stepFor('late', NEW),
    summary: 'late',
  });

  await expect(attempt).rejects.toMatchObject({ name: 'Conflict' });
  expect((await readMcn('late')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

it('takes a cordon away that its own cache does not show yet', async () => {
  await adopted('behind');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await cordon('behind');
  const cordonedAt = Number((await readNode('behind')).metadata.resourceVersion);

  const wakes: Wake[] = [];
  const run = playedRun();
  const release = createClusterActivities(portsFor(fixture, stale.caches, () => run, wakes));
  await release.releaseNode({
    ...stepFor('behind', NEW),
    outcome: 'cancelled',
    unreconcilable: false,
    hostIsBack: true,
    reason: 'retargeted',
  });

  const node = await readNode('behind');
  expect(node.spec?.unschedulable).toBeUndefined();
  expect(annotationsOf(node)).toMatchObject(onOld);
  // No stricter check: the controller manager removes the taint of the cordon a moment later.
  expect(wakes.map(({ pool }) => pool)).toEqual(['worker']);
  expect(wakes[0]?.seen.nodes).toBeGreaterThan(cordonedAt);
});

it('completes a node that its owner uncordoned meanwhile, and takes only its own mark away', async () => {
  await adopted('opened');
  await cordon('opened');
  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/opened', {
    spec: { unschedulable: null },
  });

  await activities().completeNode(stepFor('opened', NEW));

  const node = await readNode('opened');
  expect(node.spec?.unschedulable).toBeUndefined();
  expect(annotationsOf(node)).not.toHaveProperty([ANNOTATION.CORDONED_BY]);
});

/** The update ends in this way, and the person's cordon stays, without Slipway's mark. */
async function expectLeftCordoned(how: string, step: ReturnType<typeof stepFor>): Promise<void> {
  const failed = { outcome: 'failed', unreconcilable: false, reason: 'no space left' } as const;
  await (how === 'completes'
    ? activities().completeNode(step)
    : activities().releaseNode({ ...step, ...failed, hostIsBack: true }));

  const node = await readNode(step.node);
  expect(node.spec?.unschedulable).toBe(true);
  expect(annotationsOf(node)).not.toHaveProperty([ANNOTATION.CORDONED_BY]);
}

it.each(['completes', 'releases'])(
  '%s a node that its owner uncordoned and cordoned again meanwhile, and leaves that cordon',
  async (how) => {
    const name = `taken-${how}`;
    const step = stepFor(name, NEW);
    await adopted(name);
    await cordon(name);
    const cordoned = (unschedulable: true | null) =>
      fixture.admin.patch(NODES, { name }, { spec: { unschedulable } }, BY_PERSON);
    await cordoned(null);
    await cordoned(true);
    // The controllers have not removed the mark yet.
    const marked = { [ANNOTATION.CORDONED_BY]: `update-node/${name}` };
    expect(annotationsOf(await readNode(name))).toMatchObject(marked);

    const look = activities().checkCordon({ ...step, drain: DRAIN });
    await expect(look).rejects.toMatchObject({ name: 'CordonedByUser' });
    await expectLeftCordoned(how, step);
  },
);

it('takes its own cordon away, whatever a person has written on the node beside it', async () => {
  await adopted('beside');
  await cordon('beside');
  const beside = { metadata: { labels: { rack: '7' } }, spec: { unschedulable: true } };
  await fixture.admin.patch(NODES, { name: 'beside' }, beside, BY_PERSON);

  await activities().completeNode(stepFor('beside', NEW));

  expect((await readNode('beside')).spec?.unschedulable).toBeUndefined();
});

/** Field manager of `kubectl apply --server-side`. */
const applied = (name: string, spec: object) =>
  fixture.admin.apply(NODES, { metadata: { name }, spec }, BY_PERSON);

it.each(['completes', 'releases'])(
  '%s a node on which a person applied a cordon beside its own, and leaves it cordoned',
  async (how) => {
    const name = `shared-${how}`;
    const step = stepFor(name, NEW);
    await adopted(name);
    await cordon(name);
    await applied(name, { unschedulable: true });

    // No pod can have come: the update goes on.
    await expect(activities().checkCordon({ ...step, drain: DRAIN })).resolves.toEqual({
      isEmpty: true,
    });
    await expectLeftCordoned(how, step);
    await inCache(caches.nodes, name, isCordonedByPerson);
    const next = takeOut(fixture, caches, { ...stepFor(name, OLD), run: NEXT });
    await expect(next).rejects.toMatchObject({ name: 'CordonedByUser' });
  },
);

it('takes its own cordon away that a person had applied too, and does no more', async () => {
  await adopted('withdrawn');
  await cordon('withdrawn');
  await applied('withdrawn', { unschedulable: true });
  await applied('withdrawn', {});

  await activities().completeNode(stepFor('withdrawn', NEW));

  expect((await readNode('withdrawn')).spec?.unschedulable).toBeUndefined();
});

it('takes its own cordon away, whatever a person has applied to the node beside it', async () => {
  await adopted('tainted');
  await cordon('tainted');
  const taint = { key: 'example.com/rack', effect: 'PreferNoSchedule' };
  await applied('tainted', { taints: [taint] });

  await activities().completeNode(stepFor('tainted', NEW));

  const { spec } = await readNode('tainted');
  expect(spec?.unschedulable).toBeUndefined();
  expect(spec?.taints).toEqual([expect.objectContaining(taint)]);
});

it('takes the taint of a node that will be drained away with its cordon, and no other', async () => {
  await adopted('in-line');
  const ours = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
  const rack = { key: 'example.com/rack', value: '7', effect: 'PreferNoSchedule' };
  await fixture.admin.patch(NODES, { name: 'in-line' }, { spec: { taints: [rack, ours] } });
  await cordon('in-line');
  expect((await readNode('in-line')).spec?.taints).toEqual(expect.arrayContaining([rack, ours]));

  await activities().completeNode(stepFor('in-line', NEW));

  const { spec } = await readNode('in-line');
  expect(spec?.unschedulable).toBeUndefined();
  expect(spec?.taints).toEqual([rack]);
});

it('releases a failed node: uncordoned, Degraded, with the reason and still targeted', async () => {
  await adopted('failed');
  await cordon('failed');
  const reason = `the disk is full ${'x'.repeat(3000)}`;

  await activities().releaseNode({
    ...stepFor('failed', NEW),
    outcome: 'failed',
    unreconcilable: false,
    hostIsBack: true,
    reason,
  });

  const node = await readNode('failed');
  expect(node.spec?.unschedulable).toBeUndefined();
  expect(annotationsOf(node)).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: OLD,
    [ANNOTATION.DESIRED_CONFIG]: NEW,
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.REASON]: reason.slice(0, 2000),
  });
  expect(conditionsOf(await readMcn('failed'))).toMatchObject({ NodeDegraded: 'True' });
});

it('sees that a drained node was uncordoned, and cordoned anew', async () => {
  await adopted('shaken');
  await cordon('shaken');
  const step = { ...stepFor('shaken', NEW), drain: DRAIN };
  await expect(activities().checkCordon(step)).resolves.toEqual({ isEmpty: true });

  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/shaken', {
    spec: { unschedulable: null },
  });
  await inCache(caches.nodes, 'shaken', ({ spec }) => spec?.unschedulable !== true);

  await expect(activities().checkCordon(step)).rejects.toMatchObject({
    name: 'UncordonedByUser',
    message: 'node shaken was uncordoned before its machine was rebooted, and not by Slipway',
  });

  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/shaken', {
    metadata: { annotations: { [ANNOTATION.CORDONED_BY]: null } },
    spec: { unschedulable: true },
  });
  await inCache(caches.nodes, 'shaken', ({ spec }) => spec?.unschedulable === true);

  await expect(activities().checkCordon({ ...step, drain: DRAIN })).rejects.toMatchObject({
    name: 'CordonedByUser',
    message: 'node shaken was cordoned anew, and not by its update',
  });
});

it('minds the pods of a node during its rollback only while it is Ready', async () => {
  await adopted('fallen');
  const become = async (status: 'True' | 'False') => {
    await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/fallen/status', {
      status: { conditions: [{ type: 'Ready', status }] },
    });
    const isSo = (node: Node) => isReady(node) === (status === 'True');
    await inCache(caches.nodes, 'fallen', isSo);
  };
  const step = { ...stepFor('fallen', NEW), drain: DRAIN };
  const look = () => activities().checkCordon({ ...step, isGoingBack: true });

  await become('True');
  await expect(look()).rejects.toMatchObject({ name: 'UncordonedByUser' });

  await become('False');
  await expect(look()).resolves.toEqual({ isEmpty: true });
  await expect(activities().checkCordon(step)).rejects.toMatchObject({
    name: 'UncordonedByUser',
  });
});

/** Bound by hand in spite of the cordon; its scheduler does not run. */
async function bindLate(name: string, node: string): Promise<void> {
  const pods = '/api/v1/namespaces/default/pods';
  const spec = { schedulerName: 'late', containers: [{ name: 'c', image: 'none' }] };
  await fixture.cluster.admin.call('POST', pods, {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec,
  });
  await fixture.cluster.admin.call('POST', `${pods}/${name}/binding`, {
    ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name } },
    target: { apiVersion: 'v1', kind: 'Node', name: node },
  });
}

it('sees a pod that was bound to a cordoned node, during its rollback only while that is Ready', async () => {
  await adopted('laden');
  await cordon('laden');
  const step = { ...stepFor('laden', NEW), drain: DRAIN };
  const look = () => activities().checkCordon(step);
  const lookBack = () => activities().checkCordon({ ...step, isGoingBack: true });
  await expect(look()).resolves.toEqual({ isEmpty: true });
  await expect(lookBack()).resolves.toEqual({ isEmpty: true });

  await bindLate('late-on-laden', 'laden');

  await expect(look()).resolves.toEqual({ isEmpty: false });
  await expect(lookBack()).resolves.toEqual({ isEmpty: false });

  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/laden/status', {
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  });
  await inCache(caches.nodes, 'laden', (node) => !isReady(node));

  await expect(look()).resolves.toEqual({ isEmpty: false });
  await expect(lookBack()).resolves.toEqual({ isEmpty: true });
});

it('leaves pods that it cannot see to a drain, and does not wait for them during a rollback', async () => {
  await adopted('unseen');
  await cordon('unseen');
  const run = playedRun();
  const blind = { follow: () => Promise.resolve(), evict: () => Promise.reject(new Error('none')) };
  const ports = { ...portsFor(fixture, caches, () => run), pods: blind };
  const step = { ...stepFor('unseen', NEW), drain: DRAIN };
  const { checkCordon } = createClusterActivities(ports);

  await expect(checkCordon(step)).resolves.toEqual({ isEmpty: false });
  await expect(checkCordon({ ...step, isGoingBack: true })).resolves.toEqual({ isEmpty: true });
});

/** Takes each of them out of service; all of them wait at the same time. */
function takeAllOut(pool: string, ...names: readonly [string, ...string[]]) {
  const steps = names.map((name) => ({ ...stepFor(name, NEW), pool }));
  const all = steps.map((step) => {
    const run = playedRun();
    const ended = activitiesFor(fixture, caches, run).takeOutOfService(takeOutInput(step));
    // Awaited later.
    ended.catch(() => undefined);
    return { run, ended };
  });
  return { steps: steps as [NodeStep, ...NodeStep[]], all };
}

const blockersOf = ({ heartbeats }: PlayedRun) =>
  (heartbeats as GrantProgress[]).map(({ blocker }) => blocker);

it('says that it is prepared, and cordons when it has its grant and the pool has room', async () => {
  await aNarrowPool('narrow', ['one', 'two']);
  const { steps, all } = takeAllOut('narrow', 'one', 'two');
  const [one, two] = all;
  const isSaid = ({ metadata }: MachineConfigNode) =>
    metadata.annotations?.[ANNOTATION.PREPARED] ===
    'v1/2026-01-01T00:00:00.000Z/run-1 rendered-worker-1';
  for (const name of ['one', 'two']) await inCache(caches.machineConfigNodes, name, isSaid);
  expect((await readMcn('two')).spec.configVersion).toEqual({ desired: OLD });

  await giveGrants(fixture, caches, ...steps);

  await expect(one?.ended).resolves.toEqual({ cordoned: true });
  const blocked = 'waiting for room: maxUnavailable is 1; out of service: one';
  await eventually(() => expect(blockersOf(two?.run as PlayedRun)).toContain(blocked));
  expect((await readNode('two')).spec?.unschedulable).toBeUndefined();
  // One that is cordoned already takes no room.
  await expect(activities().takeOutOfService(takeOutInput(steps[0]))).resolves.toEqual({
    cordoned: true,
  });

  await activities().completeNode(steps[0]);
  await giveGrants(fixture, caches, steps[1] as NodeStep);

  await expect(two?.ended).resolves.toEqual({ cordoned: true });
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'narrow' });
});

it('cordons as many as there is room for now, when several have their grants', async () => {
  await aNarrowPool('tight', ['left', 'right']);
  const { steps, all } = takeAllOut('tight', 'left', 'right');

  await giveGrants(fixture, caches, ...steps);

  await expect(all[0]?.ended).resolves.toEqual({ cordoned: true });
  const right = all[1]?.run as PlayedRun;
  await eventually(() => expect(blockersOf(right).at(-1)).toMatch(/^waiting for room: .*left$/));
  expect((await readNode('right')).spec?.unschedulable).toBeUndefined();
  right.cancel();
  await expect(all[1]?.ended).rejects.toMatchObject({ name: 'CancelledFailure' });
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'tight' });
});

it('keeps the cordon of a node whose host could not be rolled back', async () => {
  await adopted('lost');
  await cordon('lost');

  await activities().releaseNode({
    ...stepFor('lost', NEW),
    outcome: 'failed',
    unreconcilable: false,
    hostIsBack: false,
    reason: 'step 3 of 9 failed',
  });

  const node = await readNode('lost');
  expect(node.spec?.unschedulable).toBe(true);
  expect(annotationsOf(node)).toMatchObject({
    [ANNOTATION.STATE]: 'Degraded',
    [ANNOTATION.CORDONED_BY]: 'update-node/lost',
    [ANNOTATION.REASON]:
      'step 3 of 9 failed; the host could not be rolled back, so the node is cordoned',
  });
});

it('releases a cancelled node as it was before', async () => {
  await adopted('cancelled');
  await cordon('cancelled');

  await activities().releaseNode({
    ...stepFor('cancelled', NEW),
    outcome: 'cancelled',
    unreconcilable: false,
    hostIsBack: true,
    reason: 'retargeted',
  });

  const node = await readNode('cancelled');
  expect(node.spec?.unschedulable).toBeUndefined();
  expect(annotationsOf(node)).toMatchObject(onOld);
  expect((await readMcn('cancelled')).spec.configVersion.desired).toBe(OLD);
});

it('has nothing to release of a node that is gone, also when its own cache still shows it', async () => {
  await adopted('gone');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await fixture.cluster.admin.call('DELETE', '/api/v1/nodes/gone');

  const released = activitiesFor(fixture, stale.caches).releaseNode({
    ...stepFor('gone', NEW),
    outcome: 'failed',
    unreconcilable: false,
    hostIsBack: true,
    reason: 'the machine was deleted',
  });

  await expect(released).resolves.toBeUndefined();
});

describe('a node that was deleted, and of whose name there is another one now', () => {
  const other = (name: string) => ({ ...stepFor(name, NEW), uid: 'of-the-one-before' });

  it('is not written by the update of the one before', async () => {
    await adopted('namesake');

    await giveGrants(fixture, caches, other('namesake'));
    const attempts = [
      activities().takeOutOfService(takeOutInput(other('namesake'))),
      activities().completeNode(other('namesake')),
      activities().awaitReturn({
        ...other('namesake'),
        ...{ readySeconds: 0, timeoutSeconds: 60 },
      }),
      activities().drainNode({
        ...other('namesake'),
        ...{
          drain: { timeoutSeconds: 60, onTimeout: 'Fail' },
          startedAt: new Date().toISOString(),
        },
      }),
    ];

    for (const attempt of attempts)
      await expect(attempt).rejects.toMatchObject({ name: 'NodeDeleted' });
    const released = activities().releaseNode({
      ...other('namesake'),
      ...{ outcome: 'failed', unreconcilable: false, hostIsBack: true, reason: 'x' },
    });
    await expect(released).resolves.toBeUndefined();
    const node = await readNode('namesake');
    expect(node.spec?.unschedulable).toBeUndefined();
    expect(annotationsOf(node)).toMatchObject(onOld);
  });

  it('is said to be deleted when there is none, also while a cache still shows it', async () => {
    await adopted('vanished');
    await giveGrants(fixture, caches, stepFor('vanished', NEW));
    const stale = await startCaches(fixture.worker, fixture.log);
    await stale.stop();
    await fixture.cluster.admin.call('DELETE', '/api/v1/nodes/vanished');
    const old = activitiesFor(fixture, stale.caches);

    const cordoning = old.takeOutOfService(takeOutInput(stepFor('vanished', NEW)));
    await expect(cordoning).rejects.toMatchObject({ name: 'NodeDeleted' });
    const completing = old.completeNode(stepFor('vanished', NEW));
    await expect(completing).rejects.toMatchObject({ name: 'NodeDeleted' });
  });
});

it('leaves the cordon of a person where it is when it releases a node', async () => {
  await aWorker(fixture, 'theirs', onOld);
  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/theirs', {
    spec: { unschedulable: true },
  });
  await inCache(caches.nodes, 'theirs', ({ spec }) => spec?.unschedulable === true);

  await activities().releaseNode({
    ...stepFor('theirs', NEW),
    outcome: 'failed',
    unreconcilable: true,
    hostIsBack: true,
    reason: 'spec.kernelType cannot be changed',
  });

  const node = await readNode('theirs');
  expect(node.spec?.unschedulable).toBe(true);
  expect(annotationsOf(node)[ANNOTATION.STATE]).toBe('Unreconcilable');
});

it('waits until a node is Ready on the new boot, and says what is missing when it is not', async () => {
  await adopted('boot');
  const wait = (timeoutSeconds: number) =>
    activitiesFor(fixture, caches, playedRun()).awaitReturn({
      ...{ ...stepFor('boot', NEW), bootId: 'second', readySeconds: 0, timeoutSeconds },
    });
  await boot('boot', 'first');
  await inCache(caches.nodes, 'boot', ({ status }) => status?.nodeInfo?.bootID === 'first');

  await expect(wait(1)).rejects.toMatchObject({
    name: 'NodeNotReady',
    message: 'node boot was not Ready within 1 s: the kubelet reports boot first, not yet second',
  });

  const waiting = wait(60);
  await boot('boot', 'second');
  await expect(waiting).resolves.toBeUndefined();
});

it('does not take a node out of service that was moved to another pool meanwhile', async () => {
  await aNarrowPool('blue', ['stays']);
  await aWorker(fixture, 'elsewhere', onOld);
  await inCache(caches.nodes, 'elsewhere', () => true);
  const step = { ...stepFor('elsewhere', NEW), pool: 'blue' };
  await giveGrants(fixture, caches, step);

  const cordoning = activities().takeOutOfService(takeOutInput(step));

  await expect(cordoning).rejects.toMatchObject({ name: 'NodeMoved' });
  expect((await readNode('elsewhere')).spec?.unschedulable).toBeUndefined();
});
