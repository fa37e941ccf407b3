import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  ROLLOUT_POLICIES,
} from '../../../adapters/kube/resources';
import { FIELD_MANAGER } from '../../../core/names';
import { until } from '../tools/until';
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

const PREFIX = 'machineconfiguration.openshift.io';

/** A pool with nodes that are behind its config; returns the config. */
async function aPoolBehind(
  name: string,
  nodes: readonly string[],
  spec: object = {},
): Promise<string> {
  for (const node of nodes) await createNode(fixture.api.client, aNode(node, [name]));
  await fixture.api.client.create(
    MACHINE_CONFIGS,
    aConfig(`00-${name}`, name, [aFile('/etc/x', name)]),
  );
  await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool(name, spec));
  const pool = await fixture.observer.pool(
    name,
    ({ spec: { configuration } }) => configuration?.name !== undefined,
  );
  return pool.spec.configuration?.name ?? '';
}

const linesNow = (): number => fixture.controllers.lines.length;
const wokenSince = (line: number, pool = 'worker') => wokenFor(fixture.controllers, pool, line);
const untilWokenFor = (reason: string, line: number, pool?: string) =>
  until(async () => wokenSince(line, pool).includes(reason), `woken: ${reason}`, 30_000);

/** Waits until a later change of another pool has been handled, and so all earlier ones. */
async function settle(): Promise<void> {
  const line = linesNow();
  const name = `settle${line}`;
  await aPoolBehind(name, [`${name}-node`]);
  // Not only that it is new: by then it has its config.
  await untilWokenFor('the pool changed', line, name);
}

async function annotate(node: string, annotations: object): Promise<void> {
  await fixture.api.client.patch(NODES, { name: node }, { metadata: { annotations } });
}

describe('a pool whose nodes are behind', () => {
  let config: string;

  it('gets a rollout', async () => {
    config = await aPoolBehind('worker', ['w1', 'w2']);

    await rollouts.until((asked) => asked === 'wake worker');
  });

  it('has its rollout woken when its config changes', async () => {
    const since = linesNow();
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('50-more', 'worker', [aFile('/etc/y', 'y')]),
    );
    const pool = await fixture.observer.pool(
      'worker',
      ({ spec }) => spec.configuration?.name !== config,
    );
    config = pool.spec.configuration?.name ?? '';

    await untilWokenFor('the pool changed', since);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a node is cordoned by a person',
      () => fixture.api.client.patch(NODES, { name: 'w1' }, { spec: { unschedulable: true } }),
      'node w1 was cordoned',
    ],
    [
      'and uncordoned',
      () => fixture.api.client.patch(NODES, { name: 'w1' }, { spec: { unschedulable: null } }),
      'node w1 was uncordoned',
    ],
    [
      'a node is not ready',
      () =>
        fixture.api.client.patch(
          NODES,
          { name: 'w1', subresource: 'status' },
          { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
        ),
      'readiness of node w1',
    ],
    [
      'a node joins, and is Ready then',
      () => createNode(fixture.api.client, aNode('w9', ['worker'])),
      'readiness of node w9',
    ],
    ['a node goes', () => fixture.api.client.delete(NODES, { name: 'w9' }), 'node w9 is gone'],
    [
      'maxUnavailable changes',
      () =>
        fixture.api.client.patch(
          MACHINE_CONFIG_POOLS,
          { name: 'worker' },
          { spec: { maxUnavailable: 2 } },
        ),
      'the pool changed',
    ],
    [
      'its policy changes',
      () =>
        fixture.api.client.create(ROLLOUT_POLICIES, {
          metadata: { name: 'worker' },
          spec: { canary: { nodes: 0 } },
        }),
      'the rollout policy changed',
    ],
  ])('has its rollout woken when %s', async (_what, change, expected) => {
    const since = linesNow();

    await change();

    await untilWokenFor(expected, since);
  });

  it('does not have it woken by what the update of a node does itself', async () => {
    await settle();
    const since = linesNow();

    await annotate('w2', { [`${PREFIX}/state`]: 'Working', [`${PREFIX}/desiredConfig`]: config });
    // With another field manager it would count as a person's cordon.
    const byUpdate = { fieldManager: FIELD_MANAGER.CLUSTER_WORKER };
    await fixture.api.client.patch(
      NODES,
      { name: 'w2' },
      {
        metadata: { annotations: { 'slipway.dev/cordoned-by': 'update-node/w2' } },
        spec: { unschedulable: true },
      },
      byUpdate,
    );
    await fixture.api.client.patch(
      NODES,
      { name: 'w2', subresource: 'status' },
      { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
    );
    await fixture.api.client.patch(
      NODES,
      { name: 'w2' },
      {
        metadata: {
          annotations: { 'slipway.dev/cordoned-by': null, [`${PREFIX}/state`]: 'Done' },
        },
        spec: { unschedulable: null },
      },
      byUpdate,
    );
    await settle();

    expect(wokenSince(since)).toEqual([]);
  });

  it('starts nothing when all its nodes are on the config, and tells a rollout that is open still', async () => {
    for (const node of ['w1', 'w2']) {
      await putOn(fixture.api.client, node, config);
      await fixture.api.client.patch(
        NODES,
        { name: node, subresource: 'status' },
        { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      );
    }
    await fixture.observer.pool('worker', ({ status }) => status?.updatedMachineCount === 2);
    await settle();
    const since = linesNow();

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'worker' },
      { spec: { maxUnavailable: 1 } },
    );
    await settle();

    expect(wokenSince(since)).toEqual(['the pool changed']);
  });
});

describe('a pool that waits for a person', () => {
  const wakes = (pool: string): number =>
    rollouts.asked.filter((asked) => asked === `wake ${pool}`).length;

  it('with a Manual policy is told of what it has to show, and an Event says how to start it', async () => {
    await fixture.api.client.create(ROLLOUT_POLICIES, {
      metadata: { name: 'manual' },
      spec: { trigger: 'Manual' },
    });
    await aPoolBehind('manual', ['m1']);

    await fixture.observer.until(fixture.observer.events, () =>
      fixture.observer.events
        .list()
        .some(({ message = '' }) => message.includes('slipway rollout start manual')),
    );
    await settle();
    const before = wakes('manual');

    await fixture.api.client.patch(
      ROLLOUT_POLICIES,
      { name: 'manual' },
      { spec: { trigger: 'Automatic' } },
    );
    await rollouts.until(() => wakes('manual') > before);
  });

  it('because it is paused is told when it is resumed', async () => {
    await aPoolBehind('paused', ['p1'], { paused: true });
    await settle();
    const before = wakes('paused');

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'paused' },
      { spec: { paused: false } },
    );

    await rollouts.until(() => wakes('paused') > before);
  });

  it('tells an open rollout of the pause', async () => {
    const since = linesNow();

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'paused' },
      { spec: { paused: true } },
    );

    await untilWokenFor('the pool changed', since, 'paused');
  });

  it('because its rollout was cancelled is told of the next config', async () => {
    const config = await aPoolBehind('cancelled', ['c1'], { paused: true });
    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'cancelled' },
      {
        metadata: { annotations: { 'slipway.dev/rollout-cancelled': config } },
        spec: { paused: false },
      },
    );
    await settle();
    const before = wakes('cancelled');

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('90-next', 'cancelled', [aFile('/etc/n', 'n')]),
    );

    await rollouts.until(() => wakes('cancelled') > before);
  });
});

describe('Temporal that is away', () => {
  it('is waited for, said once, and does not hold up rendering', async () => {
    rollouts.away = true;
    await aPoolBehind('patient', ['q1']);
    await fixture.observer.pool('patient', ({ status }) => status?.machineCount === 1);
    await rollouts.untilUnanswered((asked) => asked === 'wake patient');

    rollouts.away = false;

    await rollouts.until((asked) => asked === 'wake patient');
    const said = (text: string): number =>
      fixture.controllers.lines.filter(
        (line) => line.includes(text) && !line.includes('"level":20'),
      ).length;
    expect(said('Temporal does not answer')).toBe(1);
    expect(said('Temporal answers again')).toBe(1);
  });
});
