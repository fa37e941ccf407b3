import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { ClusterPicture } from '../../../controllers/cluster-picture';
import type { Writer } from '../../../controllers/fenced-writer';
import { TaintController } from '../../../controllers/nodes';
import { fail } from '../../../core/errors';
import type { MachineConfigNode, Node, NodeTaint } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import { Objects } from './listed-objects';
import { aNode, aPool, type NodeShape } from './objects';

const OURS = { key: 'UpdateInProgress', effect: 'PreferNoSchedule' };
const RACK = { key: 'example.com/rack', effect: 'NoSchedule' };
const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const OLD: NodeShape = { current: 'a', desired: 'a', state: 'Done' };
const NEW: NodeShape = { current: 'b', desired: 'b', state: 'Done' };
const TARGET = { configuration: { name: 'b' } };

interface TaintBench {
  readonly nodes: Objects<Node>;
  readonly pools: Objects<MachineConfigPool>;
  readonly policies: Objects<RolloutPolicy>;
  /** Names of the written nodes, in order of writes. */
  readonly written: string[];
  /** Nodes whose writes fail, with the failure. */
  readonly failing: Map<string, 'Conflict' | 'ApiRefused'>;
  taintsOf(node: string): readonly NodeTaint[];
}

let leading: AbortController;

beforeEach(() => {
  jest.useFakeTimers();
  leading = new AbortController();
});

afterEach(() => {
  leading.abort();
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

const numbered = (node: Node, resourceVersion: string): Node => ({
  ...node,
  metadata: { ...node.metadata, resourceVersion },
});

/** Stores writes of the present version. */
function aBench(nodes: readonly Node[], pools = [aPool('worker', TARGET)]): TaintBench {
  const stored = new Objects(nodes.map((node) => numbered(node, '1')));
  const bench: TaintBench = {
    nodes: stored,
    pools: new Objects(pools),
    policies: new Objects<RolloutPolicy>(),
    written: [],
    failing: new Map(),
    taintsOf: (node) => stored.get(node)?.spec?.taints ?? [],
  };
  const patch: Partial<Writer>['patch'] = async <T extends KubeObject>(
    _resource: Resource<T>,
    { name }: { readonly name: string },
    change: object,
  ) => {
    bench.written.push(name);
    const { metadata, spec } = change as Node;
    const node = stored.get(name);
    const failure = bench.failing.get(name);
    if (failure !== undefined) throw fail(failure, `${name} is refused`);
    if (node?.metadata.resourceVersion !== metadata.resourceVersion) throw fail('Conflict', name);
    const written = numbered(
      { ...(node as Node), spec: { ...node?.spec, ...spec } },
      `${Number(metadata.resourceVersion) + 1}`,
    );
    stored.put(written);
    return written as unknown as T;
  };
  void new TaintController(
    {
      picture: {
        ...bench,
        machineConfigNodes: new Objects<MachineConfigNode>(),
      } as unknown as ClusterPicture,
      writer: { patch },
      log: QUIET,
    },
    leading.signal,
  );
  return bench;
}

const behind = (count: number): readonly Node[] =>
  Array.from({ length: count }, (_, index) =>
    aNode({ ...OLD, name: `n${String(index).padStart(4, '0')}` }),
  );

it('taints the nodes of a rolling pool that are not on the target, beside the taints of others', async () => {
  const bench = aBench([
    aNode({ ...OLD, name: 'old', taints: [RACK] }),
    aNode({ ...NEW, name: 'new', taints: [RACK] }),
  ]);

  await pass(10_000);

  expect(bench.taintsOf('old')).toEqual([RACK, OURS]);
  expect(bench.taintsOf('new')).toEqual([RACK]);
  expect(bench.written).toEqual(['old']);
});

it('writes ten nodes a second, next in line first, however many there are', async () => {
  const bench = aBench(behind(1_000));

  await pass(0);
  expect(bench.written).toEqual(behind(10).map(({ metadata }) => metadata.name));

  await pass(2_000);
  expect(bench.written).toEqual(behind(30).map(({ metadata }) => metadata.name));
});

it('keeps to that while nodes change all the time', async () => {
  const bench = aBench(behind(200));
  for (let second = 0; second < 5; second += 1) {
    for (let change = 0; change < 20; change += 1) {
      bench.nodes.put(numbered(aNode({ ...OLD, name: 'n0199' }), `${100 + second * 20 + change}`));
      await pass(50);
    }
  }

  expect(bench.written.length).toBeLessThanOrEqual(60);
});

it('is not awake for what it has written itself, nor at rest', async () => {
  const bench = aBench(behind(3));
  await pass(10_000);
  expect(bench.written).toHaveLength(3);
  const list = jest.spyOn(bench.nodes, 'list');

  bench.nodes.put({ ...(bench.nodes.get('n0000') as Node), status: { conditions: [] } });
  await pass(60_000);

  expect(list).not.toHaveBeenCalled();
});

it.each<[string, (bench: TaintBench) => void]>([
  ['the pool is paused', ({ pools }) => pools.put(aPool('worker', { ...TARGET, paused: true }))],
  [
    'its rollout is cancelled',
    ({ pools }) =>
      pools.put(aPool('worker', TARGET, { annotations: { 'slipway.dev/rollout-cancelled': 'b' } })),
  ],
  [
    'a person has to start it',
    ({ policies }) => policies.put({ metadata: { name: 'worker' }, spec: { trigger: 'Manual' } }),
  ],
  ['the pool is gone', ({ pools }) => pools.remove('worker')],
  [
    'the pool goes back to the config of the node',
    ({ pools }) => pools.put(aPool('worker', { configuration: { name: 'a' } })),
  ],
  [
    'the node belongs to no pool any more',
    ({ nodes }) => nodes.put(numbered(aNode({ ...OLD, roles: [], taints: [RACK, OURS] }), '7')),
  ],
])('takes it away when %s', async (_what, happens) => {
  const bench = aBench([aNode({ ...OLD, taints: [RACK] })]);
  await pass(5_000);
  expect(bench.taintsOf('n1')).toEqual([RACK, OURS]);

  happens(bench);
  await pass(5_000);

  expect(bench.taintsOf('n1')).toEqual([RACK]);
});

it('takes over what it finds at its start: its own, or that of MCO', async () => {
  const bench = aBench([
    aNode({ ...NEW, name: 'new', taints: [OURS, RACK] }),
    aNode({ ...OLD, name: 'old', taints: [OURS] }),
  ]);

  await pass(5_000);

  expect(bench.taintsOf('new')).toEqual([RACK]);
  expect(bench.written).toEqual(['new']);
});

it('puts it back when somebody takes it away', async () => {
  const bench = aBench([aNode(OLD)]);
  await pass(5_000);

  bench.nodes.put(numbered(aNode(OLD), '9'));
  await pass(5_000);

  expect(bench.taintsOf('n1')).toEqual([OURS]);
});

it('does not put it back on a node that has completed since it looked', async () => {
  const bench = aBench(behind(11));
  await pass(0);
  // The eleventh is due in a second.
  bench.nodes.put(numbered(aNode({ ...NEW, name: 'n0010' }), '2'));

  await pass(10_000);

  expect(bench.written).not.toContain('n0010');
});

it('decides again when somebody else was faster', async () => {
  const bench = aBench([aNode(OLD)]);
  bench.failing.set('n1', 'Conflict');
  await pass(1_500);
  expect(bench.taintsOf('n1')).toEqual([]);

  bench.failing.clear();
  await pass(2_000);

  expect(bench.taintsOf('n1')).toEqual([OURS]);
});

it('lets nodes that cannot be written keep no other waiting, and asks for them ever more seldom', async () => {
  const bench = aBench(behind(25));
  const refused = behind(12).map(({ metadata }) => metadata.name);
  for (const name of refused) bench.failing.set(name, 'ApiRefused');

  await pass(10_000);
  expect(new Set(bench.written)).toEqual(new Set(behind(25).map(({ metadata }) => metadata.name)));
  expect(bench.taintsOf('n0024')).toEqual([OURS]);

  await pass(600_000);
  expect(bench.written.length).toBeLessThan(400);

  bench.failing.clear();
  await pass(120_000);
  expect(refused.map((name) => bench.taintsOf(name))).toEqual(refused.map(() => [OURS]));
});

it('lets two pools take turns', async () => {
  const infra = ['i1', 'i2'].map((name) => aNode({ ...OLD, name, roles: ['infra'] }));
  const bench = aBench(
    [...behind(20), ...infra],
    [aPool('worker', TARGET), aPool('infra', TARGET)],
  );

  await pass(0);

  expect(bench.written.slice(0, 4)).toEqual(['n0000', 'i1', 'n0001', 'i2']);
});
