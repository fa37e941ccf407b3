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

interface TaintFixture {
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
function aFixture(nodes: readonly Node[], pools = [aPool('worker', TARGET)]): TaintFixture {
  const stored = new Objects(nodes.map((node) => numbered(node, '1')));
  const fixture: TaintFixture = {
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
    fixture.written.push(name);
    const { metadata, spec } = change as Node;
    const node = stored.get(name);
    const failure = fixture.failing.get(name);
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
        ...fixture,
        machineConfigNodes: new Objects<MachineConfigNode>(),
      } as unknown as ClusterPicture,
      writer: { patch },
      log: QUIET,
    },
    leading.signal,
  );
  return fixture;
}

const behind = (count: number): readonly Node[] =>
  Array.from({ length: count }, (_, index) =>
    aNode({ ...OLD, name: `n${String(index).padStart(4, '0')}` }),
  );

it('taints the nodes of a rolling pool that are not on the target, beside the taints of others', async () => {
  const fixture = aFixture([
    aNode({ ...OLD, name: 'old', taints: [RACK] }),
    aNode({ ...NEW, name: 'new', taints: [RACK] }),
  ]);

  await pass(10_000);

  expect(fixture.taintsOf('old')).toEqual([RACK, OURS]);
  expect(fixture.taintsOf('new')).toEqual([RACK]);
  expect(fixture.written).toEqual(['old']);
});

it('writes ten nodes a second, next in line first, however many there are', async () => {
  const fixture = aFixture(behind(1_000));

  await pass(0);
  expect(fixture.written).toEqual(behind(10).map(({ metadata }) => metadata.name));

  await pass(2_000);
  expect(fixture.written).toEqual(behind(30).map(({ metadata }) => metadata.name));
});

it('keeps to that while nodes change all the time', async () => {
  const fixture = aFixture(behind(200));
  for (let second = 0; second < 5; second += 1) {
    for (let change = 0; change < 20; change += 1) {
      fixture.nodes.put(
        numbered(aNode({ ...OLD, name: 'n0199' }), `${100 + second * 20 + change}`),
      );
      await pass(50);
    }
  }

  expect(fixture.written.length).toBeLessThanOrEqual(60);
});

it('is not awake for what it has written itself, nor at rest', async () => {
  const fixture = aFixture(behind(3));
  await pass(10_000);
  expect(fixture.written).toHaveLength(3);
  const list = jest.spyOn(fixture.nodes, 'list');

  fixture.nodes.put({ ...(fixture.nodes.get('n0000') as Node), status: { conditions: [] } });
  await pass(60_000);

  expect(list).not.toHaveBeenCalled();
});

it.each<[string, (fixture: TaintFixture) => void]>([
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
  const fixture = aFixture([aNode({ ...OLD, taints: [RACK] })]);
  await pass(5_000);
  expect(fixture.taintsOf('n1')).toEqual([RACK, OURS]);

  happens(fixture);
  await pass(5_000);

  expect(fixture.taintsOf('n1')).toEqual([RACK]);
});

it('takes over what it finds at its start: its own, or that of MCO', async () => {
  const fixture = aFixture([
    aNode({ ...NEW, name: 'new', taints: [OURS, RACK] }),
    aNode({ ...OLD, name: 'old', taints: [OURS] }),
  ]);

  await pass(5_000);

  expect(fixture.taintsOf('new')).toEqual([RACK]);
  expect(fixture.written).toEqual(['new']);
});

it('puts it back when somebody takes it away', async () => {
  const fixture = aFixture([aNode(OLD)]);
  await pass(5_000);

  fixture.nodes.put(numbered(aNode(OLD), '9'));
  await pass(5_000);

  expect(fixture.taintsOf('n1')).toEqual([OURS]);
});

it('does not put it back on a node that has completed since it looked', async () => {
  const fixture = aFixture(behind(11));
  await pass(0);
  // The eleventh is due in a second.
  fixture.nodes.put(numbered(aNode({ ...NEW, name: 'n0010' }), '2'));

  await pass(10_000);

  expect(fixture.written).not.toContain('n0010');
});

it('decides again when somebody else was faster', async () => {
  const fixture = aFixture([aNode(OLD)]);
  fixture.failing.set('n1', 'Conflict');
  await pass(1_500);
  expect(fixture.taintsOf('n1')).toEqual([]);

  fixture.failing.clear();
  await pass(2_000);

  expect(fixture.taintsOf('n1')).toEqual([OURS]);
});

it('lets nodes that cannot be written keep no other waiting, and asks for them ever more seldom', async () => {
  const fixture = aFixture(behind(25));
  const refused = behind(12).map(({ metadata }) => metadata.name);
  for (const name of refused) fixture.failing.set(name, 'ApiRefused');

  await pass(10_000);
  expect(new Set(fixture.written)).toEqual(
    new Set(behind(25).map(({ metadata }) => metadata.name)),
  );
  expect(fixture.taintsOf('n0024')).toEqual([OURS]);

  await pass(600_000);
  expect(fixture.written.length).toBeLessThan(400);

  fixture.failing.clear();
  await pass(120_000);
  expect(refused.map((name) => fixture.taintsOf(name))).toEqual(refused.map(() => [OURS]));
});

it('lets two pools take turns', async () => {
  const infra = ['i1', 'i2'].map((name) => aNode({ ...OLD, name, roles: ['infra'] }));
  const fixture = aFixture(
    [...behind(20), ...infra],
    [aPool('worker', TARGET), aPool('infra', TARGET)],
  );

  await pass(0);

  expect(fixture.written.slice(0, 4)).toEqual(['n0000', 'i1', 'n0001', 'i2']);
});
