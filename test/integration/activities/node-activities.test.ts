import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
} from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import { isReady } from '../../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../../core/node/types';
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
  playedRun,
  portsFor,
  stepFor,
  theWorkerPool,
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

const cordon = (name: string, config = NEW) =>
  activities().cordonNode({ ...stepFor(name, config), cordon: true, summary: 'reboot: a test' });

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

  const attempt = activity.cordonNode({
    ...stepFor('frozen', NEW),
    cordon: true,
    summary: 'reboot: a test',
  });

  await expect(attempt).rejects.toMatchObject({ name: 'Conflict' });
  expect(conditionsOf(end as MachineConfigNode)).toMatchObject({ Updated: 'True' });
  expect((await readMcn('frozen')).metadata.resourceVersion).toBe(end?.metadata.resourceVersion);
});

it('reads a MachineConfigNode again that changed since the cache showed it', async () => {
  await adopted('stale-picture');
  await cordon('stale-picture');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await activities().reportNodePhase({
    ...stepFor('stale-picture', NEW),
    phase: 'Rebooting',
    message: 'boot 1 → boot 2',
  });

  await activitiesFor(fixture, stale.caches).completeNode(stepFor('stale-picture', NEW));

  expect(conditionsOf(await readMcn('stale-picture'))).toMatchObject({
    Updated: 'True',
    RebootedNode: 'False',
  });
});

it('leaves a node alone that a person cordoned, also when the cache is older than the cordon', async () => {
  await adopted('person');
  // The watch is stopped first, so that the activity decides on an outdated Node.
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/person', {
    spec: { unschedulable: true },
  });
  const before = await readNode('person');

  const attempt = activitiesFor(fixture, stale.caches).cordonNode({
    ...stepFor('person', NEW),
    cordon: true,
    summary: 'reboot: a test',
  });

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
  await activities().reportNodePhase({
    ...stepFor('complete', NEW),
    phase: 'Rebooting',
    message: 'boot 1 → boot 2',
  });
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
  await activities().reportNodePhase({
    ...stepFor('complete', NEW),
    phase: 'Rebooting',
    message: 'late',
  });
  expect((await readMcn('complete')).metadata.resourceVersion).toBe(mcn.metadata.resourceVersion);
});

it('never shows an old phase over the end, also when its own cache is older than the end', async () => {
  await adopted('late');
  await cordon('late');
  const stale = await startCaches(fixture.worker, fixture.log);
  await stale.stop();
  await activities().completeNode(stepFor('late', NEW));
  const before = await readMcn('late');

  const attempt = activitiesFor(fixture, stale.caches).reportNodePhase({
    ...stepFor('late', NEW),
    phase: 'Rebooting',
    message: 'late',
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

  const written = await activitiesFor(fixture, stale.caches).releaseNode({
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
  expect(written?.inService).toBe(true);
  expect(Number(written?.resourceVersion)).toBeGreaterThan(cordonedAt);
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
    const next = { ...stepFor(name, OLD), run: NEXT, cordon: true, summary: 'the next update' };
    await expect(activities().cordonNode(next)).rejects.toMatchObject({ name: 'CordonedByUser' });
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
  // The cluster's own taint of a cordoned node goes a moment after the cordon.
  expect(spec?.taints).toEqual(expect.arrayContaining([expect.objectContaining(taint)]));
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
  expect(spec?.taints).toEqual(expect.arrayContaining([rack]));
  expect(spec?.taints).not.toContainEqual(ours);
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

it('does not cordon one more node than the pool has room for now', async () => {
  await aNarrowPool('narrow', ['one', 'two']);
  const cordonOf = (name: string) =>
    activities().cordonNode({
      ...{ ...stepFor(name, NEW), pool: 'narrow' },
      ...{ cordon: true, summary: 'reboot: a test' },
    });
  await cordonOf('one');

  await expect(cordonOf('two')).rejects.toMatchObject({
    name: 'SlotNeeded',
    message: 'pool narrow has no free slot: maxUnavailable is 1, and out of service are one',
  });

  expect((await readNode('two')).spec?.unschedulable).toBeUndefined();
  // A node that is cordoned already takes no further slot.
  await expect(cordonOf('one')).resolves.toEqual({ cordoned: true });
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'narrow' });
});

it('does not cordon two at once where one more may go', async () => {
  await aNarrowPool('tight', ['left', 'right']);
  const both = activities();
  const cordonOf = (name: string) =>
    both.cordonNode({
      ...{ ...stepFor(name, NEW), pool: 'tight' },
      ...{ cordon: true, summary: 'reboot: a test' },
    });

  const ended = await Promise.allSettled(['left', 'right'].map(cordonOf));

  const nodes = await Promise.all(['left', 'right'].map(readNode));
  expect(nodes.filter(({ spec }) => spec?.unschedulable === true)).toHaveLength(1);
  expect(ended.filter(({ status }) => status === 'rejected')).toEqual([
    { status: 'rejected', reason: expect.objectContaining({ name: 'SlotNeeded' }) as unknown },
  ]);
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'tight' });
});

it('does not cordon two at once by two workers where the limit was lowered to one', async () => {
  await aNarrowPool('lowered', ['east', 'west']);
  const cordonOf = (name: string, slotNumber: number) =>
    activities().cordonNode({
      ...{ ...stepFor(name, NEW), pool: 'lowered' },
      ...{ cordon: true, slotNumber, summary: 'reboot: a test' },
    });

  const ended = await Promise.allSettled([cordonOf('east', 1), cordonOf('west', 2)]);

  expect((await readNode('east')).spec?.unschedulable).toBe(true);
  expect((await readNode('west')).spec?.unschedulable).toBeUndefined();
  expect(ended[1]).toMatchObject({ reason: { name: 'SlotNeeded' } });
  await fixture.admin.delete(MACHINE_CONFIG_POOLS, { name: 'lowered' });
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

    const attempts = [
      activities().cordonNode({ ...other('namesake'), cordon: true, summary: 'a test' }),
      activities().completeNode(other('namesake')),
      activities().awaitNodeReady({
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
    const stale = await startCaches(fixture.worker, fixture.log);
    await stale.stop();
    await fixture.cluster.admin.call('DELETE', '/api/v1/nodes/vanished');
    const old = activitiesFor(fixture, stale.caches);

    const cordoning = old.cordonNode({
      ...stepFor('vanished', NEW),
      cordon: true,
      summary: 'a test',
    });
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
  const bootId = async (id: string) =>
    fixture.cluster.admin.call('PATCH', '/api/v1/nodes/boot/status', {
      status: { nodeInfo: { bootID: id } },
    });
  const wait = (timeoutSeconds: number, run = playedRun()) =>
    activitiesFor(fixture, caches, run).awaitNodeReady({
      ...stepFor('boot', NEW),
      bootId: 'second',
      readySeconds: 0,
      timeoutSeconds,
    });
  await bootId('first');
  await inCache(caches.nodes, 'boot', ({ status }) => status?.nodeInfo?.bootID === 'first');

  await expect(wait(1)).rejects.toMatchObject({
    name: 'NodeNotReady',
    message: 'node boot was not Ready within 1 s: the kubelet reports boot first, not yet second',
  });

  const waiting = wait(60);
  await bootId('second');
  await expect(waiting).resolves.toBeUndefined();
});

it('holds a node and clears the hold', async () => {
  await adopted('held');

  await activities().holdNode({
    node: 'held',
    pool: 'worker',
    config: NEW,
    reason: 'skipped by ada',
  });
  expect(annotationsOf(await readNode('held'))).toMatchObject({
    [ANNOTATION.HELD_FOR]: NEW,
    [ANNOTATION.HELD_REASON]: 'skipped by ada',
  });

  await activities().holdNode({ node: 'held', pool: 'worker', config: NEW });
  expect(annotationsOf(await readNode('held'))).not.toHaveProperty([ANNOTATION.HELD_FOR]);
});

describe('a pool', () => {
  beforeAll(async () => {
    await applyManifest(fixture.admin, {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfigPool',
      metadata: { name: 'blue' },
      spec: {
        nodeSelector: { matchLabels: { color: 'blue' } },
        machineConfigSelector: {
          matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
        },
      },
    });
    await inCache(caches.pools, 'blue', () => true);
  });

  const look = (limit = 10) =>
    activities().selectNodes({ pool: 'blue', inFlight: [], retry: [], limit });

  it('that does not exist is said not to', async () => {
    await expect(
      activities().selectNodes({ pool: 'green', inFlight: [], retry: [], limit: 1 }),
    ).resolves.toEqual({ exists: false });
  });

  it('says which remembered nodes have left it, and asks the server before it does', async () => {
    const member = { labels: { color: 'blue' } };
    for (const name of ['stays', 'moves', 'goes']) {
      await applyManifest(fixture.admin, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name, ...member },
      });
      await inCache(caches.nodes, name, () => true);
    }
    const uid = (await readNode('stays')).metadata.uid ?? '';
    const remembered = ['stays', 'moves', 'goes', 'joins'].map((node) => ({ node }));
    const stale = await startCaches(fixture.worker, fixture.log);
    await stale.stop();
    await fixture.cluster.admin.call('DELETE', '/api/v1/nodes/goes');
    await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/moves', {
      metadata: { labels: { color: null } },
    });
    await inCache(
      caches.nodes,
      'moves',
      ({ metadata }) => metadata.labels?.['color'] === undefined,
    );
    // Known to the server, and not yet to the cache below.
    await applyManifest(fixture.admin, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'joins', ...member },
    });

    const ask = (from: ClusterCaches, nodes: readonly { node: string; uid?: string }[]) =>
      activitiesFor(fixture, from).selectNodes({
        ...{ pool: 'blue', inFlight: [], retry: [], limit: 1 },
        remembered: nodes,
      });

    await expect(ask(caches, remembered)).resolves.toMatchObject({
      departed: [
        { node: 'moves', deleted: false, reason: 'node moves was moved to no pool' },
        { node: 'goes', deleted: true, reason: 'node goes was deleted' },
      ],
    });
    // A cache that is behind does not report a node as gone that has joined meanwhile.
    const behind = await ask(stale.caches, [{ node: 'joins' }]);
    expect(behind).not.toHaveProperty('departed');
    const twice = await ask(caches, [
      { node: 'stays', uid },
      { node: 'joins', uid: 'of-another' },
    ]);
    expect(twice).toMatchObject({ departed: [{ node: 'joins', deleted: true }] });
    for (const name of ['stays', 'joins']) {
      await fixture.cluster.admin.call('DELETE', `/api/v1/nodes/${name}`);
      await eventually(() => expect(caches.nodes.get(name)).toBeUndefined());
    }
  });

  it('refuses its slot to a node that was moved away meanwhile', async () => {
    await aWorker(fixture, 'elsewhere', onOld);
    await inCache(caches.nodes, 'elsewhere', () => true);

    const cordoning = activities().cordonNode({
      ...stepFor('elsewhere', NEW),
      ...{ pool: 'blue', cordon: true, summary: 'a test' },
    });

    await expect(cordoning).rejects.toMatchObject({ name: 'NodeMoved' });
    expect((await readNode('elsewhere')).spec?.unschedulable).toBeUndefined();
  });

  it('is paused with a reason, resumed without one, and remembers a cancelled rollout', async () => {
    await activities().setPoolPaused({ pool: 'blue', paused: true, reason: 'lunch' });
    await expect(look()).resolves.toMatchObject({ paused: true, pausedReason: 'lunch' });

    await activities().setPoolPaused({ pool: 'blue', paused: false, reason: 'back' });
    const resumed = await look();
    expect(resumed).toMatchObject({ paused: false });
    expect(resumed).not.toHaveProperty('pausedReason');

    await activities().markRolloutCancelled({ pool: 'blue', config: NEW });
    const pool = await fixture.admin.get(MACHINE_CONFIG_POOLS, { name: 'blue' });
    expect(pool.metadata.annotations).toMatchObject({ [ANNOTATION.ROLLOUT_CANCELLED]: NEW });
  });

  it('remembers a started rollout until it is over or cancelled', async () => {
    await activities().markRolloutStarted({ pool: 'blue', config: NEW });
    await inCache(caches.pools, 'blue', ({ metadata }) => isStarted(metadata.annotations));
    await expect(look()).resolves.toMatchObject({ startedConfig: NEW });

    await activities().markRolloutStarted({ pool: 'blue' });
    await inCache(caches.pools, 'blue', ({ metadata }) => !isStarted(metadata.annotations));
    expect(await look()).not.toHaveProperty('startedConfig');

    await activities().markRolloutStarted({ pool: 'blue', config: NEW });
    await activities().markRolloutCancelled({ pool: 'blue', config: NEW });
    const pool = await fixture.admin.get(MACHINE_CONFIG_POOLS, { name: 'blue' });
    expect(pool.metadata.annotations).toMatchObject({ [ANNOTATION.ROLLOUT_CANCELLED]: NEW });
    expect(isStarted(pool.metadata.annotations)).toBe(false);
  });

  it('has its candidates with the digest of the config, and none before the config exists', async () => {
    await applyManifest(fixture.admin, {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfigPool',
      metadata: { name: 'blue' },
      spec: {
        configuration: { name: 'rendered-blue-1' },
        nodeSelector: { matchLabels: { color: 'blue' } },
        machineConfigSelector: {
          matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
        },
      },
    });
    await aWorker(fixture, 'blue-1', onOld);
    await fixture.cluster.admin.call('PATCH', '/api/v1/nodes/blue-1', {
      metadata: { labels: { color: 'blue' } },
    });
    await inCache(caches.nodes, 'blue-1', ({ metadata }) => metadata.labels?.['color'] === 'blue');
    await inCache(caches.pools, 'blue', ({ spec }) => spec.configuration?.name !== undefined);
    const early = await look();
    expect(early).toMatchObject({ machineCount: 1, candidates: [], candidateCount: 1 });
    expect(early).not.toHaveProperty('config');

    const config = {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: { name: 'rendered-blue-1' },
      spec: { config: { ignition: { version: '3.5.0' } }, kernelArguments: ['nosmt'] },
    };
    await applyManifest(fixture.admin, config);
    await eventually(() => fixture.admin.get(MACHINE_CONFIGS, { name: 'rendered-blue-1' }));

    const seen = await look();
    expect(seen).toMatchObject({
      exists: true,
      config: {
        name: 'rendered-blue-1',
        digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      },
      candidates: [{ node: 'blue-1', repair: false }],
    });
    await expect(look(0)).resolves.toMatchObject({ candidates: [], candidateCount: 1 });
  });

  it('names the failed nodes that its rollout remembers first', async () => {
    const failed = {
      ...onOld,
      [ANNOTATION.DESIRED_CONFIG]: 'rendered-blue-1',
      [ANNOTATION.STATE]: 'Degraded',
    };
    for (const node of ['blue-3', 'blue-4']) {
      await aWorker(fixture, node, failed);
      await fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${node}`, {
        metadata: { labels: { color: 'blue' } },
      });
      await inCache(caches.nodes, node, ({ metadata }) => metadata.labels?.['color'] === 'blue');
    }

    const question = { pool: 'blue', inFlight: [], retry: [], limit: 0 };
    const remembering = await activities().selectNodes({
      ...question,
      remembered: [{ node: 'blue-4' }],
    });

    expect(await activities().selectNodes(question)).toMatchObject({
      failed: [{ node: 'blue-3' }, { node: 'blue-4' }],
    });
    expect(remembering).toMatchObject({ failed: [{ node: 'blue-4' }, { node: 'blue-3' }] });
  });
});

function isStarted(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[ANNOTATION.ROLLOUT_STARTED] !== undefined;
}
