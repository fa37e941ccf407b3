import { createHoldNode } from '../../../../activities/cluster/hold-node';
import type { ClusterPorts, NodeChange } from '../../../../activities/cluster/ports';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';

const CONFIG = 'rendered-blue-1';
const HOLD = { node: 'n', pool: 'blue', config: CONFIG, reason: 'skipped by ada' };

function aPool(name: string): MachineConfigPool {
  return {
    metadata: { name },
    spec: { nodeSelector: { matchLabels: { pool: name } } },
  };
}

/** A cluster with one node of that pool; returns the writes to it. */
function scene(pool: string | undefined) {
  const node: Node = {
    metadata: {
      name: 'n',
      labels: pool === undefined ? {} : { pool },
      annotations: { [ANNOTATION.HELD_FOR]: 'rendered-other-1' },
      resourceVersion: '17',
    },
  };
  const writes: (NodeChange | undefined)[] = [];
  const ports = {
    now: () => 0,
    run: () => ({
      log: { info: () => undefined },
      signal: new AbortController().signal,
      isAwaited: () => Promise.resolve(true),
    }),
    view: { pools: { list: () => [aPool('blue'), aPool('red')] } },
    nodes: {
      change: (_name: string, decide: (known: Node) => NodeChange | undefined) =>
        Promise.resolve().then(() => {
          writes.push(decide(node));
          return node;
        }),
    },
  } as unknown as ClusterPorts;
  return { writes, holdNode: createHoldNode(ports) };
}

const HELD = {
  annotations: { [ANNOTATION.HELD_FOR]: CONFIG, [ANNOTATION.HELD_REASON]: 'skipped by ada' },
};

it('holds a node of the pool, and says in which version of it', async () => {
  const { writes, holdNode } = scene('blue');

  const written = await holdNode(HOLD);

  expect(written).toMatchObject({ resourceVersion: '17' });
  expect(writes).toEqual([HELD]);
});

it.each([
  ['holds', HOLD],
  ['releases', { node: 'n', pool: 'blue', config: CONFIG }],
])('%s no node of another pool, and says whose it is', async (_what, input) => {
  const { writes, holdNode } = scene('red');

  await expect(holdNode(input)).rejects.toMatchObject({
    name: 'RefusedRequest',
    message: 'node n belongs to pool red, not to pool blue',
  });
  expect(writes).toEqual([]);
});

it('holds no node of no pool', async () => {
  const { writes, holdNode } = scene(undefined);

  await expect(holdNode(HOLD)).rejects.toMatchObject({
    name: 'RefusedRequest',
    message: 'node n belongs to no pool, not to pool blue',
  });
  expect(writes).toEqual([]);
});
