import type { KubeObject } from '../../../adapters/kube/resources';
import type { ClusterPicture } from '../../../controllers/cluster-picture';
import type { Writer } from '../../../controllers/fenced-writer';
import { NodeController } from '../../../controllers/nodes';
import { fail } from '../../../core/errors';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import { Objects } from './listed-objects';
import { aNode, aPool, type NodeShape } from './objects';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A node that carries the mark of a cordon, at some version. */
function marked(shape: NodeShape, version = '1', unschedulable = false): Node {
  const node = aNode({ ...shape, cordoned: 'slipway' });
  return {
    ...node,
    metadata: { ...node.metadata, resourceVersion: version },
    spec: { unschedulable },
  };
}

const stop: AbortController[] = [];

interface Bench {
  readonly nodes: Objects<Node>;
  readonly patches: object[];
  conflict: boolean;
}

function aBench(node: Node): Bench {
  const nodes = new Objects<Node>([node]);
  const bench: Bench = { nodes, patches: [], conflict: false };
  const known: MachineConfigNode = {
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
  };
  const writer: Partial<Writer> = {
    patch: async <T extends KubeObject>(_resource: unknown, _key: unknown, patch: object) => {
      bench.patches.push(patch);
      if (bench.conflict) throw fail('Conflict', 'the node has changed');
      return {} as T;
    },
  };
  const picture: Partial<ClusterPicture> = {
    nodes,
    pools: new Objects([aPool()]),
    machineConfigNodes: new Objects([known]),
  };
  const leading = new AbortController();
  stop.push(leading);
  void new NodeController(
    { picture: picture as ClusterPicture, writer: writer as Writer, log: QUIET },
    leading.signal,
  );
  return bench;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  for (const one of stop.splice(0)) one.abort();
  jest.useRealTimers();
});

const failed = { current: 'a', desired: 'b', state: 'Degraded' };
const clears = (resourceVersion: string) => ({
  metadata: { resourceVersion, annotations: { 'slipway.dev/cordoned-by': null } },
});

it('clears the mark of a cordon that a person has taken away from a failed node', async () => {
  const bench = aBench(marked(failed, '1', true));
  await pass(10_000);
  expect(bench.patches).toEqual([]);

  bench.nodes.put(marked(failed, '2'));
  await pass(10_000);

  expect(bench.patches).toEqual([clears('2')]);
});

it('finds one that was there before it began', async () => {
  const bench = aBench(marked({ current: 'a', desired: 'a', state: 'Done' }, '7'));

  await pass(0);

  expect(bench.patches).toEqual([clears('7')]);
});

it('leaves the mark to an update that runs', async () => {
  const bench = aBench(marked({ current: 'a', desired: 'b', state: 'Working' }));

  await pass(10_000);

  expect(bench.patches).toEqual([]);
});

it('decides again on the next version when the node has changed meanwhile', async () => {
  const bench = aBench(marked(failed, '1', true));
  bench.conflict = true;
  bench.nodes.put(marked(failed, '2'));
  await pass(10_000);
  expect(bench.patches).toEqual([clears('2')]);

  bench.conflict = false;
  bench.nodes.put(marked(failed, '3'));
  await pass(10_000);

  expect(bench.patches).toEqual([clears('2'), clears('3')]);
});
