import { WatchCache } from '../../../adapters/kube/cache';
import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS, NODES } from '../../../adapters/kube/resources';
import type { Node } from '../../../core/node/types';
import { QUIET } from '../crds/api-server';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  createNode,
  FakeRollouts,
  putOn,
  useControllers,
  wokenFor,
} from './fixture';

jest.setTimeout(60_000);

const rollouts = new FakeRollouts();
const fixture = useControllers(() => Promise.resolve({ gateway: rollouts }));

const OURS = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
const RACK = { key: 'example.com/rack', value: '7', effect: 'PreferNoSchedule' };

let nodes: WatchCache<Node>;
const stop = new AbortController();
const tainted: string[] = [];

beforeAll(async () => {
  nodes = new WatchCache<Node>({ resource: NODES, log: QUIET });
  nodes.subscribe((event) => {
    const before = event.type === 'modified' && isTainted(event.previous);
    if (event.type !== 'deleted' && isTainted(event.object) && !before) {
      tainted.push(event.object.metadata.name);
    }
  });
  void nodes.run(fixture.api.client, stop.signal);
  await nodes.synced;
});

afterAll(() => {
  stop.abort();
});

function isTainted({ spec }: Node): boolean {
  return (spec?.taints ?? []).some(({ key }) => key === OURS.key);
}

const taintsOf = (name: string): readonly object[] =>
  (nodes.get(name)?.spec?.taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/'));

const until = (holds: () => boolean): Promise<void> => fixture.observer.until(nodes, holds);

async function aMember(pool: string, name: string, taints: readonly object[] = []): Promise<void> {
  const node = aNode(name, [pool]);
  await createNode(fixture.api.client, { ...node, spec: { taints } } as Node);
  await putOn(fixture.api.client, name, `rendered-${pool}-old`);
}

/** A pool whose nodes are behind its config; returns the config. */
async function aPoolBehind(pool: string): Promise<string> {
  const { client } = fixture.api;
  await client.create(MACHINE_CONFIGS, aConfig(`00-${pool}`, pool, [aFile('/etc/x', pool)]));
  await client.create(MACHINE_CONFIG_POOLS, aPool(pool));
  const rendered = await fixture.observer.pool(
    pool,
    ({ spec: { configuration } }) => configuration?.name !== undefined,
  );
  return rendered.spec.configuration?.name ?? '';
}

/** In the order of their names: they are of one age. */
const names = 'abcdefghijkl'.split('').map((letter) => `node-${letter}`);

it('comes on every node that is behind, next in line first, beside the taints of others', async () => {
  for (const name of names) await aMember('worker', name, name === 'node-c' ? [RACK] : []);
  await aPoolBehind('worker');
  await rollouts.until((asked) => asked === 'wake worker');

  await until(() => names.every((name) => taintsOf(name).length > 0));

  const inLine = nodes
    .list()
    .map(({ metadata: { name, creationTimestamp = '' } }) => ({ name, creationTimestamp }))
    .sort((a, b) =>
      `${a.creationTimestamp} ${a.name}` < `${b.creationTimestamp} ${b.name}` ? -1 : 1,
    )
    .map(({ name }) => name);
  expect(tainted).toEqual(inLine);
  expect(taintsOf('node-c')).toEqual([RACK, OURS]);
});

it('goes when the pool is paused, and comes back when it goes on', async () => {
  const { client } = fixture.api;
  await client.patch(MACHINE_CONFIG_POOLS, { name: 'worker' }, { spec: { paused: true } });
  await until(() => !nodes.list().some(isTainted));
  expect(taintsOf('node-c')).toEqual([RACK]);

  await client.patch(MACHINE_CONFIG_POOLS, { name: 'worker' }, { spec: { paused: false } });
  await until(() => nodes.list().every(isTainted));
});

it('is on no node that has come to the target, whoever wrote it there, and wakes no rollout', async () => {
  const { client } = fixture.api;
  const config =
    fixture.observer.pools.get('worker')?.spec.configuration?.name ?? 'the pool has no config';
  for (const name of names) await putOn(client, name, config);
  await until(() => !nodes.list().some(isTainted));
  expect(taintsOf('node-c')).toEqual([RACK]);

  // As MCO leaves it on a node when it is switched off.
  await client.patch(NODES, { name: 'node-a' }, { spec: { taints: [OURS, RACK] } });
  await until(() => isTainted(nodes.get('node-a') as Node));
  await until(() => !isTainted(nodes.get('node-a') as Node));
  expect(taintsOf('node-a')).toEqual([RACK]);

  const woken = wokenFor(fixture.controllers, 'worker');
  const ofTaints = woken.filter((reason) => reason.startsWith('taints of'));
  // Only the node with another program's taint.
  expect(ofTaints.every((reason) => reason.endsWith('node-a'))).toBe(true);
});
