import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { RolloutPolicy } from '../../../core/pool/types';
import { aFixture, pass, stopAll } from './node-fixture';
import { aNode, aPool, PREFIX, type NodeShape } from './objects';

/** A node with the mark of a cordon, at this version. */
function marked(shape: NodeShape, version = '1', unschedulable = false): Node {
  const node = aNode({ ...shape, cordoned: 'slipway' });
  return {
    ...node,
    metadata: { ...node.metadata, resourceVersion: version },
    spec: { unschedulable },
  };
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  stopAll();
  jest.useRealTimers();
});

const failed = { current: 'a', desired: 'b', state: 'Degraded' };
const clears = (resourceVersion: string) => ({
  metadata: { resourceVersion, annotations: { 'slipway.dev/cordoned-by': null } },
});

it('clears the mark of a cordon that a person has taken away from a failed node', async () => {
  const fixture = aFixture(marked(failed, '1', true));
  await pass(10_000);
  expect(fixture.patches).toEqual([]);

  fixture.nodes.put(marked(failed, '2'));
  await pass(10_000);

  expect(fixture.patches).toEqual([clears('2')]);
});

describe('a node in no pool', () => {
  const bare = aNode({ roles: [] });
  const told = [
    'n1',
    'InNoPool',
    expect.stringContaining('kubectl label node n1 node-role.kubernetes.io/worker='),
  ];

  it('is told once, with the command that labels it', async () => {
    const fixture = aFixture(bare);
    await pass(50_000);
    expect(fixture.events).toEqual([]);
    await pass(20_000);
    fixture.nodes.put({ ...bare, metadata: { ...bare.metadata, labels: { zone: 'a' } } });
    await pass(100_000);
    expect(fixture.events).toEqual([told]);

    fixture.nodes.put(aNode());
    await pass(10_000);
    fixture.nodes.put(bare);
    await pass(100_000);
    expect(fixture.events).toEqual([told, told]);
  });

  it('is told what its pool asks for, where that is no label of a worker', async () => {
    const fixture = aFixture(bare, aPool('infra'));
    await pass(100_000);

    expect(fixture.events.map(([, , message]) => message)).toEqual([
      'no pool takes the node, so it gets no config: label it as the nodeSelector of a pool asks for',
    ]);
  });

  it.each([
    ['is one of Windows', { 'kubernetes.io/os': 'windows' }],
    ['is in one', { 'node-role.kubernetes.io/worker': '' }],
  ])('is not one that %s', async (_what, labels) => {
    const fixture = aFixture({ ...bare, metadata: { ...bare.metadata, labels } });
    await pass(100_000);

    expect(fixture.events).toEqual([]);
  });
});

it('finds one that was there before it began', async () => {
  const fixture = aFixture(marked({ current: 'a', desired: 'a', state: 'Done' }, '7'));

  await pass(0);

  expect(fixture.patches).toEqual([clears('7')]);
});

it("clears it in the middle of an update: a cordon that comes now is a person's", async () => {
  const working = { current: 'a', desired: 'b', state: 'Working' };
  const fixture = aFixture(marked(working, '1', true));
  await pass(10_000);
  expect(fixture.patches).toEqual([]);

  fixture.nodes.put(marked(working, '2'));
  await pass(10_000);

  expect(fixture.patches).toEqual([clears('2')]);
});

it("clears it beside a cordon that is a person's already", async () => {
  const working = { current: 'a', desired: 'b', state: 'Working' };
  const cordonedBy = (manager: string, version: string): Node => {
    const node = marked(working, version, true);
    const managedFields = [{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }];
    return { ...node, metadata: { ...node.metadata, managedFields } };
  };
  const fixture = aFixture(cordonedBy('slipway-cluster-worker', '1'));
  await pass(10_000);
  expect(fixture.patches).toEqual([]);

  fixture.nodes.put(cordonedBy('kubectl', '2'));
  await pass(10_000);

  expect(fixture.patches).toEqual([clears('2')]);
});

it('decides again on the next version when the node has changed meanwhile', async () => {
  const fixture = aFixture(marked(failed, '1', true));
  fixture.conflict = true;
  fixture.nodes.put(marked(failed, '2'));
  await pass(10_000);
  expect(fixture.patches).toEqual([clears('2')]);

  fixture.conflict = false;
  fixture.nodes.put(marked(failed, '3'));
  await pass(10_000);

  expect(fixture.patches).toEqual([clears('2'), clears('3')]);
});

describe('a node that came with its config', () => {
  const done = { current: 'a', desired: 'a', state: 'Done' };

  it('is shown on it before its first update', async () => {
    const fixture = aFixture(aNode(done));
    await pass(10_000);

    expect(fixture.applied).toEqual([
      { metadata: {}, spec: { configVersion: { desired: 'a' } } },
      {
        metadata: { name: 'n1', resourceVersion: '8' },
        status: expect.objectContaining({
          configVersion: { desired: 'a', current: 'a' },
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'Updated', status: 'True' }),
          ]) as unknown,
        }) as unknown,
      },
    ]);
  });

  it('is shown when its host says so', async () => {
    const fixture = aFixture(aNode({}));
    await pass(10_000);
    expect(fixture.applied).toEqual([]);

    fixture.nodes.put(aNode(done));
    await pass(10_000);

    expect(fixture.applied).toHaveLength(2);
  });

  it.each([
    ['works', { current: 'a', desired: 'b', state: 'Working' }],
    ['has failed', { current: 'a', desired: 'b', state: 'Degraded' }],
  ])('is left to its update when it %s', async (_what, shape) => {
    const fixture = aFixture(aNode(shape));
    await pass(10_000);

    expect(fixture.applied).toEqual([]);
  });

  it('is left alone once an update has written', async () => {
    const fixture = aFixture(aNode({ current: 'a', desired: 'b', state: 'Working' }));
    fixture.machineConfigNodes.put({
      metadata: { name: 'n1' },
      spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
      status: { conditions: [{ type: 'Updated', status: 'False', reason: 'x', message: '' }] },
    });
    fixture.nodes.put(aNode(done));
    await pass(10_000);

    expect(fixture.applied).toEqual([]);
  });
});

describe('a node that has joined, and whose host says what it came with', () => {
  const cameWith = (config: string): MachineConfigNode => ({
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'x' } },
    status: {
      conditions: [{ type: 'Drifted', status: 'False', reason: 'AsExpected', message: '' }],
      drift: { config, count: 0, findings: [], repairs: [], forced: false },
    },
  });
  const memberOn = (config: string) => ({
    metadata: {
      annotations: {
        [`${PREFIX}/currentConfig`]: config,
        [`${PREFIX}/desiredConfig`]: config,
        [`${PREFIX}/state`]: 'Done',
        [`${PREFIX}/reason`]: '',
      },
    },
  });
  const target = { configuration: { name: 'newest' } };
  const manual: RolloutPolicy = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' } };
  const cancelled = { annotations: { 'slipway.dev/rollout-cancelled': 'newest' } };

  it.each([
    ['rolls by itself', aPool('worker', target), undefined],
    ['waits for a person', aPool('worker', target), manual],
    ['is paused', aPool('worker', { ...target, paused: true }), undefined],
    ['was told to roll no more', aPool('worker', target, cancelled), undefined],
  ])('is a member at once on the config of a pool that %s', async (_what, pool, policy) => {
    const fixture = aFixture(aNode({}), pool);
    if (policy !== undefined) fixture.policies.put(policy);
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.machineConfigNodes.put(cameWith('newest'));
    await pass(10_000);

    expect(fixture.patches).toContainEqual(memberOn('newest'));
  });

  it.each([
    ['waits for a person', aPool('worker', target), manual],
    ['is paused', aPool('worker', { ...target, paused: true }), undefined],
    ['was told to roll no more', aPool('worker', target, cancelled), undefined],
  ])('is one on an older config of a pool that %s', async (_what, pool, policy) => {
    const fixture = aFixture(aNode({}), pool);
    if (policy !== undefined) fixture.policies.put(policy);
    fixture.machineConfigNodes.put(cameWith('older'));
    await pass(10_000);

    expect(fixture.patches[0]).toEqual(memberOn('older'));
  });

  it('is a member as soon as it is Ready', async () => {
    const fixture = aFixture(aNode({ ready: false }), aPool('worker', target));
    fixture.machineConfigNodes.put(cameWith('newest'));
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.nodes.put(aNode({ ready: true }));
    await pass(10_000);

    expect(fixture.patches[0]).toEqual(memberOn('newest'));
  });

  it('is left to the rollout on an older config of a pool that rolls, until the pool is paused', async () => {
    const fixture = aFixture(aNode({}), aPool('worker', target));
    fixture.machineConfigNodes.put(cameWith('older'));
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.pools.put(aPool('worker', { ...target, paused: true }));
    await pass(10_000);

    expect(fixture.patches[0]).toEqual(memberOn('older'));
  });

  it('is a member as soon as the pool is on its config, and when a policy no longer lets it be asked', async () => {
    const fixture = aFixture(aNode({}), aPool('worker', target));
    fixture.machineConfigNodes.put(cameWith('older'));
    await pass(10_000);
    fixture.policies.put(manual);
    await pass(10_000);
    expect(fixture.patches[0]).toEqual(memberOn('older'));

    const another = aFixture(aNode({}), aPool('worker', target));
    another.machineConfigNodes.put(cameWith('next'));
    await pass(10_000);
    another.pools.put(aPool('worker', { configuration: { name: 'next' } }));
    await pass(10_000);

    expect(another.patches[0]).toEqual(memberOn('next'));
  });

  it('is left to the rollout on an older config of a pool that rolls, until too many nodes have failed', async () => {
    const failed = (name: string): Node =>
      aNode({ name, current: 'older', desired: 'newest', state: 'Degraded' });
    const working = aNode({ name: 'n3', current: 'older', desired: 'newest', state: 'Working' });
    const fixture = aFixture(aNode({}), aPool('worker', target));
    fixture.nodes.put(failed('n2'));
    fixture.nodes.put(working);
    fixture.machineConfigNodes.put(cameWith('older'));
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.nodes.put(failed('n3'));
    await pass(10_000);

    expect(fixture.patches[0]).toEqual(memberOn('older'));
  });

  it.each([
    ['of another pool', { roles: ['infra'] }, aPool('infra', target)],
    ['on another config', { desired: 'other' }, undefined],
  ])('is left to the rollout whatever has failed %s', async (_what, shape, another) => {
    const fixture = aFixture(aNode({}), aPool('worker', target));
    if (another !== undefined) fixture.pools.put(another);
    const failed = { current: 'older', desired: 'newest', state: 'Degraded', ...shape };
    for (const name of ['n2', 'n3']) fixture.nodes.put(aNode({ name, ...failed }));
    fixture.machineConfigNodes.put(cameWith('older'));
    await pass(10_000);

    expect(fixture.patches).toEqual([]);
  });

  it.each(['other', 'unheard-of'])('is not one on %s, no config of its pool', async (config) => {
    const fixture = aFixture(aNode({}), aPool('worker', { ...target, paused: true }));
    fixture.machineConfigNodes.put(cameWith(config));
    await pass(10_000);

    expect(fixture.patches).toEqual([]);
  });

  it('is left to an update that has begun', async () => {
    const fixture = aFixture(
      aNode({ desired: 'newest', state: 'Working' }),
      aPool('worker', target),
    );
    fixture.machineConfigNodes.put(cameWith('newest'));
    await pass(10_000);

    expect(fixture.patches).toEqual([]);
  });
});

it('is named after its pool again when an update that began in another pool wrote over it', async () => {
  const fixture = aFixture(aNode({ current: 'a', desired: 'a', state: 'Done' }));
  await pass(10_000);
  fixture.applied.length = 0;

  fixture.machineConfigNodes.put({
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'infra' }, configVersion: { desired: 'a' } },
  });
  await pass(10_000);

  expect(fixture.applied).toContainEqual({
    metadata: { name: 'n1' },
    spec: { pool: { name: 'worker' } },
  });
});

describe('a node whose host has reported drift', () => {
  /** The end of a drift comes after its beginning. */
  const since = (status: 'True' | 'False') => ({
    lastTransitionTime: status === 'True' ? '2026-01-01T00:00:00Z' : '2026-01-01T00:01:00Z',
  });
  const drifted = (status: 'True' | 'False', message: string): MachineConfigNode => ({
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'a' } },
    status: {
      conditions: [{ type: 'Drifted', status, reason: 'ConfigDrift', message, ...since(status) }],
      drift: { config: 'a', count: 1, findings: [], repairs: [], forced: false },
    },
  });
  const at = (version: string, shape: NodeShape): Node => {
    const node = aNode(shape);
    return { ...node, metadata: { ...node.metadata, resourceVersion: version } };
  };
  const done = { current: 'a', desired: 'a', state: 'Done' };
  const what = 'unexpected on-disk state validating against a: /etc/x is missing';
  const degraded = {
    metadata: {
      resourceVersion: '5',
      annotations: {
        'machineconfiguration.openshift.io/state': 'Degraded',
        'machineconfiguration.openshift.io/reason': what,
      },
    },
  };

  it('becomes Degraded when the report comes', async () => {
    const fixture = aFixture(at('5', done));
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.machineConfigNodes.put(drifted('True', what));
    await pass(10_000);

    expect(fixture.patches).toEqual([degraded]);
  });

  it('is NodeDegraded on its MachineConfigNode as soon as its Node is Degraded, and no longer', async () => {
    const fixture = aFixture(at('5', done));
    const node = at('6', { ...done, state: 'Degraded' });
    const { annotations } = degraded.metadata;
    const all = { ...node.metadata.annotations, ...annotations };
    fixture.machineConfigNodes.put(drifted('True', what));
    await pass(10_000);
    fixture.nodes.put({ ...node, metadata: { ...node.metadata, annotations: all } });
    await pass(10_000);

    const is = { type: 'NodeDegraded', reason: 'ConfigDrift' };
    const said = {
      metadata: { name: 'n1' },
      status: { conditions: [{ ...is, status: 'True', message: what, ...since('True') }] },
    };
    expect(fixture.applied).toContainEqual(said);

    const over = drifted('False', '');
    const { conditions = [], ...status } = over.status ?? {};
    fixture.machineConfigNodes.put({
      ...over,
      status: { ...status, conditions: [...conditions, ...said.status.conditions] } as never,
    });
    fixture.nodes.put(at('7', done));
    await pass(10_000);

    expect(fixture.applied).toContainEqual({
      metadata: { name: 'n1' },
      status: { conditions: [{ ...is, status: 'False', message: '', ...since('False') }] },
    });
  });

  it('has an Event each time that it drifts, and when it does so no more', async () => {
    const fixture = aFixture(at('5', done));
    const node = at('6', { ...done, state: 'Degraded' });
    const { annotations } = degraded.metadata;
    const degradedNode = {
      ...node,
      metadata: {
        ...node.metadata,
        annotations: { ...node.metadata.annotations, ...annotations },
      },
    };
    for (const status of ['True', 'False', 'True'] as const) {
      const reported = drifted(status, status === 'True' ? what : '');
      fixture.machineConfigNodes.put(reported);
      await pass(10_000);
      fixture.nodes.put(status === 'True' ? degradedNode : at('6', done));
      await pass(10_000);
    }

    expect(fixture.events).toEqual([
      ['n1', 'ConfigDriftDetected', what],
      ['n1', 'ConfigDriftOver', 'the disk matches its config again'],
      ['n1', 'ConfigDriftDetected', what],
    ]);
  });

  it('becomes Degraded when its update ends, not before', async () => {
    const fixture = aFixture(at('4', { ...done, state: 'Working' }));
    fixture.machineConfigNodes.put(drifted('True', what));
    await pass(10_000);
    expect(fixture.patches).toEqual([]);

    fixture.nodes.put(at('5', done));
    await pass(10_000);

    expect(fixture.patches).toEqual([degraded]);
  });

  it('is decided again when somebody else wrote the node', async () => {
    const fixture = aFixture(at('5', done));
    fixture.conflict = true;
    fixture.machineConfigNodes.put(drifted('True', what));
    await pass(1_000);
    fixture.conflict = false;
    fixture.patches.length = 0;

    await pass(60_000);

    expect(fixture.patches[0]).toEqual(degraded);
  });
});
