/** A process that stood still wakes up with a step of an update that another one has ended since. */

import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { NODES } from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import {
  inCache,
  startCaches,
  startKubeFixture,
  type KubeFixture,
  type RunningCaches,
} from '../kube/fixture';
import { activitiesFor, aWorker, stepFor } from './activities-fixture';

jest.setTimeout(240_000);

const OLD = 'rendered-worker-0';
const NEW = 'rendered-worker-1';
const NEWER = 'rendered-worker-2';
const FIRST = { id: 'run-1', startedAt: '2026-01-01T00:00:00.000Z' };
const SECOND = { id: 'run-2', startedAt: '2026-01-01T00:05:00.000Z' };
const THIRD = { id: 'run-3', startedAt: '2026-01-01T00:10:00.000Z' };

let fixture: KubeFixture;
let running: RunningCaches;
let caches: ClusterCaches;

beforeAll(async () => {
  fixture = await startKubeFixture();
  running = await startCaches(fixture.worker, fixture.log);
  caches = running.caches;
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

/** One step of the earlier update, late: its own clock says that it has just begun. */
const LATE = {
  cordonNode: (node: string) =>
    activities().cordonNode({ ...first(node), cordon: true, summary: 'reboot: a test' }),
  completeNode: (node: string) => activities().completeNode(first(node)),
  'releaseNode of a failed update': (node: string) =>
    activities().releaseNode({ ...first(node), ...how, outcome: 'failed' }),
  'releaseNode of a cancelled update': (node: string) =>
    activities().releaseNode({ ...first(node), ...how, outcome: 'cancelled' }),
} as const;
const steps = Object.entries(LATE).map(([step, late], index) => [step, late, index] as const);

/** The earlier update has come to its end. */
async function updatedOnce(node: string): Promise<void> {
  await aWorker(fixture, node, {
    [ANNOTATION.CURRENT_CONFIG]: OLD,
    [ANNOTATION.DESIRED_CONFIG]: OLD,
    [ANNOTATION.STATE]: 'Done',
  });
  await inCache(caches.nodes, node, () => true);
  await LATE.cordonNode(node);
  await LATE.completeNode(node);
}

async function expectSuperseded(node: string, late: Promise<unknown>): Promise<void> {
  const before = await readNode(node);
  await expect(late).rejects.toMatchObject({ name: 'UpdateSuperseded' });
  expect((await readNode(node)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
}

it.each(steps)('writes nothing while the next update runs: %s', async (_step, late, index) => {
  const node = `late-${index}`;
  await updatedOnce(node);
  await activities().cordonNode({ ...second(node), cordon: true, summary: 'reboot: a test' });

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
  // It found the machine on its config, and never cordoned the node.
  await activities().completeNode(second(node));

  await expectSuperseded(node, late(node));
});

it('does not cordon a node that its own update has given back', async () => {
  await updatedOnce('given-back');

  await expectSuperseded('given-back', LATE.cordonNode('given-back'));
});

it('lets a later update take a node whose update was lost', async () => {
  await updatedOnce('lost');
  const order = { cordon: true, summary: 'reboot: a test' };
  await activities().cordonNode({ ...second('lost'), ...order });

  const third = { ...second('lost'), run: THIRD };
  await activities().cordonNode({ ...third, ...order });
  await activities().completeNode(third);

  const { spec, metadata } = await readNode('lost');
  expect(spec?.unschedulable ?? false).toBe(false);
  expect(metadata.annotations).toMatchObject({
    [ANNOTATION.CURRENT_CONFIG]: NEWER,
    [ANNOTATION.UPDATE_RUN]: `${THIRD.startedAt}/${THIRD.id}/over`,
  });
});
