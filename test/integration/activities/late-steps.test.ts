/** A frozen process resumes with a step of an update that has ended meanwhile. */

import { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { MACHINE_CONFIG_POOLS, NODES, PODS } from '../../../adapters/kube/resources';
import { ANNOTATION, FIELD_MANAGER } from '../../../core/names';
import type { Node } from '../../../core/node/types';
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
  aWorkload,
  DRAIN,
  giveGrants,
  playedRun,
  type PlayedRun,
  portsFor,
  stepFor,
  takeOut,
  takeOutInput,
  theWorkerPool,
} from './activities-fixture';

jest.setTimeout(240_000);

const OLD = 'rendered-worker-0';
const NEW = 'rendered-worker-1';
const NEWER = 'rendered-worker-2';
const FIRST = { id: 'run-1', startedAt: '2026-01-01T00:00:00.000Z' };
const SECOND = { id: 'run-2', startedAt: '2026-01-01T00:05:00.000Z' };
const THIRD = { id: 'run-3', startedAt: '2026-01-01T00:10:00.000Z' };

const TOUCHED = { metadata: { annotations: { 'example.com/touched': 'by a person' } } };

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
const first = (node: string) => ({ ...stepFor(node, NEW), run: FIRST });
const second = (node: string) => ({ ...stepFor(node, NEWER), run: SECOND });
const how = { unreconcilable: false, reason: 'a test', hostIsBack: true };

/** A late step of the earlier update, which by its own clock has just begun. */
const LATE = {
  takeOutOfService: (node: string) => takeOut(fixture, caches, first(node)),
  cordonAgain: (node: string) =>
    activities().cordonAgain({ ...takeOutInput(first(node)), isGoingBack: true }),
  completeNode: (node: string) => activities().completeNode(first(node)),
  'releaseNode of a failed update': (node: string) =>
    activities().releaseNode({ ...first(node), ...how, outcome: 'failed' }),
  'releaseNode of a cancelled update': (node: string) =>
    activities().releaseNode({ ...first(node), ...how, outcome: 'cancelled' }),
} as const;
const steps = Object.entries(LATE).map(([step, late], index) => [step, late, index] as const);

const ON_OLD = {
  [ANNOTATION.CURRENT_CONFIG]: OLD,
  [ANNOTATION.DESIRED_CONFIG]: OLD,
  [ANNOTATION.STATE]: 'Done',
};

async function updatedOnce(node: string): Promise<void> {
  await aWorker(fixture, node, ON_OLD);
  await inCache(caches.nodes, node, () => true);
  await LATE.takeOutOfService(node);
  await LATE.completeNode(node);
}

async function expectSuperseded(node: string, late: Promise<unknown>): Promise<void> {
  const before = await readNode(node);
  await expect(late).rejects.toMatchObject({ name: 'UpdateSuperseded' });
  expect(writtenByUs(await readNode(node))).toEqual(writtenByUs(before));
}

/** Not the whole Node: the controller manager adds labels, and some time after a cordon a taint. */
function writtenByUs({ metadata: { annotations }, spec }: Node): object {
  return { annotations, unschedulable: spec?.unschedulable ?? false };
}

it.each(steps)('writes nothing while the next update runs: %s', async (_step, late, index) => {
  const node = `late-${index}`;
  await updatedOnce(node);
  await takeOut(fixture, caches, second(node));

  await expectSuperseded(node, late(node));

  const { spec, metadata } = await readNode(node);
  expect(spec?.unschedulable).toBe(true);
  expect(metadata.annotations).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: NEW,
    [ANNOTATION.DESIRED_CONFIG]: NEWER,
    [ANNOTATION.STATE]: 'Working',
  });
});

it.each(steps)('writes nothing after the next update: %s', async (_step, late, index) => {
  const node = `later-${index}`;
  await updatedOnce(node);
  // The second update found the machine on its config, and never cordoned the node.
  await activities().completeNode(second(node));

  await expectSuperseded(node, late(node));
});

it('does not cordon a node that its own update has uncordoned', async () => {
  await updatedOnce('given-back');

  await expectSuperseded('given-back', LATE.takeOutOfService('given-back'));
});

it('lets a later update take a node whose update was lost', async () => {
  await updatedOnce('lost');
  await takeOut(fixture, caches, second('lost'));

  const third = { ...second('lost'), run: THIRD };
  await takeOut(fixture, caches, third);
  await activities().completeNode(third);

  const { spec, metadata } = await readNode('lost');
  expect(spec?.unschedulable ?? false).toBe(false);
  expect(metadata.annotations).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: NEWER,
    [ANNOTATION.UPDATE_RUN]: `v1/${THIRD.startedAt}/${THIRD.id}/over`,
  });
});

describe('a mark that is ahead of the clock of the Temporal server', () => {
  const AHEAD = 'v1/2126-01-01T00:00:00.000Z/of-another-clock';
  /** As Temporal says it: one run of a node is open, or none. */
  const askedOf = (open: string | undefined) => {
    const asked: string[] = [];
    const isClosed = (node: string, runId: string): Promise<boolean> => {
      asked.push(`${node} ${runId}`);
      return Promise.resolve(runId !== open);
    };
    const run = playedRun();
    const ports = portsFor(fixture, caches, () => run);
    const nodeUpdates = { ...ports.nodeUpdates, isClosed };
    return { asked, steps: createClusterActivities({ ...ports, nodeUpdates }) };
  };
  async function aNodeAhead(node: string): Promise<void> {
    await updatedOnce(node);
    const mark = { metadata: { annotations: { [ANNOTATION.UPDATE_RUN]: AHEAD } } };
    await fixture.admin.patch(NODES, { name: node }, mark);
  }

  it('keeps the open update of the node from nothing', async () => {
    await aNodeAhead('ahead');
    const { steps: open, asked } = askedOf(SECOND.id);

    await giveGrants(fixture, caches, second('ahead'));
    await open.takeOutOfService(takeOutInput(second('ahead')));
    expect((await readNode('ahead')).spec?.unschedulable).toBe(true);
    await open.completeNode(second('ahead'));

    const { spec, metadata } = await readNode('ahead');
    expect(spec?.unschedulable ?? false).toBe(false);
    expect(metadata.annotations).toMatchObject({
      [ANNOTATION.CURRENT_CONFIG]: NEWER,
      [ANNOTATION.UPDATE_RUN]: `v1/${SECOND.startedAt}/${SECOND.id}/over`,
    });
    // Once: after that the mark is its own.
    expect(asked).toEqual([`ahead ${SECOND.id}`]);
  });

  it('has an update that is open release what an earlier one left', async () => {
    await aNodeAhead('ahead-released');
    await fixture.admin.patch(
      NODES,
      { name: 'ahead-released' },
      {
        metadata: { annotations: { [ANNOTATION.CORDONED_BY]: 'update-node/ahead-released' } },
        spec: { unschedulable: true },
      },
      { fieldManager: FIELD_MANAGER.CLUSTER_WORKER },
    );

    const { steps: open } = askedOf(SECOND.id);
    await open.releaseNode({ ...second('ahead-released'), ...how, outcome: 'failed' });

    expect((await readNode('ahead-released')).spec?.unschedulable ?? false).toBe(false);
  });

  it('stands against a step of an update that is not open any more', async () => {
    await aNodeAhead('ahead-late');
    const { steps: closed } = askedOf(undefined);

    await giveGrants(fixture, caches, second('ahead-late'));
    const late = closed.takeOutOfService(takeOutInput(second('ahead-late')));

    await expectSuperseded('ahead-late', late);
  });
});

describe('a drain that comes late', () => {
  const drain = { drain: DRAIN, startedAt: new Date().toISOString() };

  /** A pod that cannot be evicted until `letGo`. */
  async function aPodOn(node: string, minAvailable = 0): Promise<void> {
    await aWorkload(fixture, { name: node, node, replicas: 1, minAvailable });
    await eventually(async () => {
      expect(await podsOn(node)).toMatchObject([{ status: { phase: 'Running' } }]);
    });
  }

  const podsOn = async (node: string) =>
    (await fixture.admin.list(PODS, { fieldSelector: `spec.nodeName=${node}` })).items;

  const letGo = (name: string) =>
    applyManifest(fixture.admin, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 0, selector: { matchLabels: { app: name } } },
    });

  const cordonedAs = (node: string, cordonedBy: string | null, mark?: null) =>
    fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${node}`, {
      metadata: {
        annotations: {
          [ANNOTATION.CORDONED_BY]: cordonedBy,
          ...(mark === undefined ? {} : { [ANNOTATION.UPDATE_RUN]: mark }),
        },
      },
      spec: { unschedulable: true },
    });

  async function expectLeftAlone(node: string, name: string, late: Promise<unknown>) {
    await expect(late).rejects.toMatchObject({ name });
    const pods = await podsOn(node);
    expect(pods.map(({ metadata }) => metadata.deletionTimestamp)).toEqual([undefined]);
  }

  it('evicts nothing from a node that was uncordoned, and that a person has cordoned since', async () => {
    await updatedOnce('drained-over');
    await aPodOn('drained-over');
    await cordonedAs('drained-over', null);

    const late = activities().drainNode({ ...first('drained-over'), ...drain });

    await expectLeftAlone('drained-over', 'UpdateSuperseded', late);
  });

  it('evicts nothing from a node that the next update has', async () => {
    await updatedOnce('drained-next');
    await aPodOn('drained-next');
    await takeOut(fixture, caches, second('drained-next'));

    const late = activities().drainNode({ ...first('drained-next'), ...drain });

    await expectLeftAlone('drained-next', 'UpdateSuperseded', late);
  });

  it('evicts nothing under the cordon of a person, also when nobody knows of any update', async () => {
    await updatedOnce('drained-person');
    await aPodOn('drained-person');
    await cordonedAs('drained-person', null, null);

    const late = activities().drainNode({ ...first('drained-person'), ...drain });

    await expectLeftAlone('drained-person', 'CordonedByUser', late);
  });

  it('evicts nothing when it resumes in the middle with an outdated cache', async () => {
    const node = 'drained-asleep';
    await aWorker(fixture, node);
    await aPodOn(node, 1);
    await inCache(caches.nodes, node, () => true);
    await LATE.takeOutOfService(node);
    const stale = await startCaches(fixture.worker, fixture.log);
    await stale.stop();
    const run = playedRun();
    let sleptMs = 0;
    const { drainNode } = createClusterActivities({
      ...portsFor(fixture, stale.caches, () => run),
      now: () => Date.now() + sleptMs,
    });
    const draining = drainNode({ ...first(node), ...drain, startedAt: new Date().toISOString() });
    const late = expectLeftAlone(node, 'UpdateSuperseded', draining);
    await run.heartbeatWith(({ remainingCount }) => remainingCount === 1);

    await LATE.completeNode(node);
    await cordonedAs(node, null);
    await letGo(node);
    sleptMs = 60_000;

    await late;
  });
});

it('does not cordon a node once more that a person put back into service after its update', async () => {
  const node = 'late-cordon';
  await aWorker(fixture, node, { [ANNOTATION.CURRENT_CONFIG]: OLD });
  await inCache(caches.nodes, node, () => true);
  await LATE.takeOutOfService(node);
  const lost = { ...how, outcome: 'failed', hostIsBack: false } as const;
  const release = (run: PlayedRun) =>
    activitiesFor(fixture, caches, run).releaseNode({ ...first(node), ...lost });
  await release(playedRun());
  expect((await readNode(node)).spec?.unschedulable).toBe(true);
  await fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${node}`, {
    spec: { unschedulable: null },
  });
  await inCache(caches.nodes, node, ({ spec }) => spec?.unschedulable !== true);

  const late = release({ ...playedRun(), isAwaited: () => Promise.resolve(false) });

  await expect(late).rejects.toMatchObject({ name: 'Conflict' });
  expect((await readNode(node)).spec?.unschedulable).toBeUndefined();
});

describe.each<readonly [string, 'skipNode' | 'retryNode', Readonly<Record<string, string>>]>([
  ['a hold', 'skipNode', {}],
  ['the end of a hold', 'retryNode', { [ANNOTATION.HELD_FOR]: NEW }],
])('%s that comes late', (what, kind, since) => {
  const slug = what.replaceAll(' ', '-');
  const say = (run: PlayedRun, node: string) =>
    activitiesFor(fixture, caches, run).writeWord({
      pool: 'worker',
      word: { kind, node, reason: 'by ada' },
    });

  beforeAll(async () => {
    const pool = { name: 'worker' };
    const spec = { configuration: { name: NEW } };
    await fixture.admin.patch(MACHINE_CONFIG_POOLS, pool, { spec });
    await inCache(caches.pools, 'worker', (known) => known.spec.configuration?.name === NEW);
  });

  async function aNodeSince(node: string): Promise<void> {
    await aWorker(fixture, node, { ...ON_OLD, ...since });
    await inCache(caches.nodes, node, () => true);
  }

  async function expectAsBefore(node: string): Promise<void> {
    // The controller manager also writes to new Nodes, so their version says nothing.
    const { annotations = {} } = (await readNode(node)).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe(since[ANNOTATION.HELD_FOR]);
    expect(annotations[ANNOTATION.HELD_REASON]).toBeUndefined();
  }

  it('writes nothing over a later change by a person', async () => {
    const node = `late-${slug}`;
    await aNodeSince(node);

    const run = { ...playedRun(), isAwaited: () => Promise.resolve(false) };
    await expect(say(run, node)).rejects.toMatchObject({ name: 'Conflict' });

    await expectAsBefore(node);
  });

  it('is decided again when the Node is changed after Temporal was asked', async () => {
    const node = `contended-${slug}`;
    await aNodeSince(node);
    let asked = 0;
    const isAwaited = async (): Promise<boolean> => {
      asked += 1;
      if (asked === 1) await fixture.cluster.admin.call('PATCH', `/api/v1/nodes/${node}`, TOUCHED);
      return asked === 1;
    };

    await expect(say({ ...playedRun(), isAwaited }, node)).rejects.toMatchObject({
      name: 'Conflict',
    });

    expect(asked).toBe(2);
    await expectAsBefore(node);
  });

  it('is written while somebody waits for it', async () => {
    const node = `wanted-${slug}`;
    await aNodeSince(node);

    const seen = await say(playedRun(), node);

    const { annotations = {}, resourceVersion } = (await readNode(node)).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe(kind === 'skipNode' ? NEW : undefined);
    expect(Number(resourceVersion)).toBeGreaterThanOrEqual(seen.nodes ?? Infinity);
  });
});
