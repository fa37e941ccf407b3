import { refuseWithoutRoom } from '../../../../activities/cluster/room-in-pool';
import type { ClusterPorts, Lookup } from '../../../../activities/ports';
import { fail } from '../../../../core/errors';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';

const STEP = {
  node: 'a',
  pool: 'worker',
  config: 'rendered-worker-1',
  workflowId: 'update-node/a',
};
const DONE = {
  [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-0',
  [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-0',
  [ANNOTATION.STATE]: 'Done',
};

function aNode(name: string, isReady = true, role = 'worker'): Node {
  return {
    metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' }, annotations: DONE },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  };
}

function aPool(name: string, maxUnavailable?: number | string): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      ...(maxUnavailable === undefined ? {} : { maxUnavailable }),
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
  };
}

function lookup<T extends { readonly metadata: { readonly name: string } }>(
  objects: readonly T[],
): Lookup<T> {
  return {
    synced: Promise.resolve(),
    get: (name) => objects.find(({ metadata }) => metadata.name === name),
    list: () => objects,
    subscribe: () => () => undefined,
  };
}

/** @param now - the nodes as the API server has them; default: as they are shown */
function look(
  shown: readonly Node[],
  maxUnavailable?: number | string,
  now: readonly Node[] = shown,
): { readonly done: Promise<void>; readonly read: string[] } {
  const read: string[] = [];
  const ports = {
    view: {
      nodes: lookup(shown),
      pools: lookup([aPool('master'), aPool('worker', maxUnavailable)]),
    },
    nodes: {
      read: (name: string) => {
        read.push(name);
        const found = now.find(({ metadata }) => metadata.name === name);
        return found === undefined
          ? Promise.reject(fail('ObjectNotFound', `node ${name} does not exist`))
          : Promise.resolve(found);
      },
    },
  } as unknown as ClusterPorts;
  return { done: refuseWithoutRoom(ports, STEP), read };
}

it('lets a node go while there is room, and asks nobody', async () => {
  const { done, read } = look([aNode('a'), aNode('b', false), aNode('c')], 2);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual([]);
});

it('refuses when others have gone down since the slot was given, and names them', async () => {
  const { done } = look([aNode('a'), aNode('b', false), aNode('c')], 1);
  await expect(done).rejects.toMatchObject({
    name: 'SlotNeeded',
    message: 'pool worker has no room any more: maxUnavailable is 1, and out of service are b',
  });
});

it('refuses when the limit was lowered since', async () => {
  const down = ['b', 'c', 'd', 'e'].map((name) => aNode(name, false));
  const { done } = look([aNode('a'), ...down], 3);
  await expect(done).rejects.toThrow('out of service are b, c, d and 1 more');
});

it.each([
  ['is back by now', [aNode('a'), aNode('b')]],
  ['is gone by now', [aNode('a')]],
])('asks again before it refuses: the node that is shown down %s', async (_what, now) => {
  const { done, read } = look([aNode('a'), aNode('b', false)], 1, now);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual(['b']);
});

it('does not count nodes of other pools', async () => {
  const { done, read } = look([aNode('a'), aNode('m', false, 'master')], 1);
  await expect(done).resolves.toBeUndefined();
  expect(read).toEqual([]);
});

it.each([
  ['34%', 'resolves'],
  ['33%', 'rejects'],
] as const)('takes %s of the nodes of the pool', async (share, what) => {
  const nodes = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => aNode(name, name !== 'b'));
  const { done } = look([...nodes, aNode('m', true, 'master')], share);
  if (what === 'resolves') await expect(done).resolves.toBeUndefined();
  else await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

it('lets a node go that an update has left out of service', async () => {
  const { metadata, ...rest } = aNode('a');
  const annotations = { ...metadata.annotations, [ANNOTATION.STATE]: 'Working' };
  const { done } = look([{ ...rest, metadata: { ...metadata, annotations } }, aNode('b', false)]);
  await expect(done).resolves.toBeUndefined();
});

it('refuses one that is down by itself: it may be back before it is applied', async () => {
  const { done } = look([aNode('a', false), aNode('b', false)], 1);
  await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});

it('lets none go under a limit that nobody can mean', async () => {
  const { done } = look([aNode('a')], '0%');
  await expect(done).rejects.toMatchObject({ name: 'SlotNeeded' });
});
