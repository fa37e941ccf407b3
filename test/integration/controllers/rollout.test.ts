import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  ROLLOUT_POLICIES,
} from '../../../adapters/kube/resources';
import { FIELD_MANAGER } from '../../../core/names';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  createNode,
  FakeRollouts,
  putOn,
  useControllers,
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

/** Messages to an open rollout since the mark, without the periodic checks. */
function toldTo(pool: string, since = 0): readonly string[] {
  return rollouts.asked
    .slice(since)
    .filter((asked) => asked.split(/[ :]/)[1] === pool && !asked.startsWith('look '));
}

/** Waits until a later change of another pool has been handled, and so all earlier ones. */
async function settle(): Promise<void> {
  const name = `settle${rollouts.asked.length}`;
  await aPoolBehind(name, [`${name}-node`]);
  await rollouts.until((asked) => asked.startsWith(`start ${name} `));
}

async function annotate(node: string, annotations: object): Promise<void> {
  await fixture.api.client.patch(NODES, { name: node }, { metadata: { annotations } });
}

describe('a pool whose nodes are behind', () => {
  let config: string;

  it('gets a rollout aimed at its config', async () => {
    config = await aPoolBehind('worker', ['w1', 'w2']);

    await rollouts.until((asked) => asked === `start worker ${config}`);

    expect(toldTo('worker').filter((asked) => asked.startsWith('start'))).toHaveLength(1);
  });

  it('is retargeted when its config changes', async () => {
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('50-more', 'worker', [aFile('/etc/y', 'y')]),
    );
    const pool = await fixture.observer.pool(
      'worker',
      ({ spec }) => spec.configuration?.name !== config,
    );
    config = pool.spec.configuration?.name ?? '';

    await rollouts.until((asked) => asked === `retarget worker ${config}`);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a node is cordoned by a person',
      () => fixture.api.client.patch(NODES, { name: 'w1' }, { spec: { unschedulable: true } }),
      'wake worker: node w1 was cordoned',
    ],
    [
      'and uncordoned',
      () => fixture.api.client.patch(NODES, { name: 'w1' }, { spec: { unschedulable: null } }),
      'wake worker: node w1 was uncordoned',
    ],
    [
      'a node is not ready',
      () =>
        fixture.api.client.patch(
          NODES,
          { name: 'w1', subresource: 'status' },
          { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
        ),
      'wake worker: readiness of node w1',
    ],
    [
      'a node joins',
      () => createNode(fixture.api.client, aNode('w9', ['worker'])),
      'wake worker: node w9 joined',
    ],
    [
      'a node goes',
      () => fixture.api.client.delete(NODES, { name: 'w9' }),
      'wake worker: node w9 is gone',
    ],
    [
      'maxUnavailable changes',
      () =>
        fixture.api.client.patch(
          MACHINE_CONFIG_POOLS,
          { name: 'worker' },
          { spec: { maxUnavailable: 2 } },
        ),
      'wake worker: the pool changed',
    ],
    [
      'its policy changes',
      () =>
        fixture.api.client.create(ROLLOUT_POLICIES, {
          metadata: { name: 'worker' },
          spec: { canary: { nodes: 0 } },
        }),
      'wake worker: the rollout policy changed',
    ],
  ])('has its rollout woken when %s', async (_what, change, expected) => {
    const since = rollouts.asked.length;

    await change();

    await rollouts.until(
      (asked) => asked === expected && rollouts.asked.indexOf(asked, since) >= since,
    );
  });

  it('does not have it woken by what the update of a node does itself', async () => {
    await settle();
    const since = rollouts.asked.length;

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

    expect(toldTo('worker', since)).toEqual([]);
  });

  it('starts again when its rollout is gone, as after a loss of Temporal’s database', async () => {
    rollouts.open.clear();
    const since = rollouts.asked.length;

    await createNode(fixture.api.client, aNode('w10', ['worker']));

    await rollouts.until(
      (asked) =>
        asked === `start worker ${config}` && rollouts.asked.indexOf(asked, since) >= since,
    );
  });

  it('starts nothing when all its nodes are on the config, and tells a rollout that is open still', async () => {
    for (const node of ['w1', 'w2', 'w10']) {
      await putOn(fixture.api.client, node, config);
      await fixture.api.client.patch(
        NODES,
        { name: node, subresource: 'status' },
        { status: { conditions: [{ type: 'Ready', status: 'True' }] } },
      );
    }
    await fixture.observer.pool('worker', ({ status }) => status?.updatedMachineCount === 3);
    await settle();
    const since = rollouts.asked.length;

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'worker' },
      { spec: { maxUnavailable: 1 } },
    );
    await settle();

    expect(toldTo('worker', since)).toEqual(['wake worker: the pool changed']);
  });
});

describe('a pool that waits for a person', () => {
  it('with a Manual policy is not started, and an Event says how', async () => {
    await fixture.api.client.create(ROLLOUT_POLICIES, {
      metadata: { name: 'manual' },
      spec: { trigger: 'Manual' },
    });
    const config = await aPoolBehind('manual', ['m1']);

    await fixture.observer.until(fixture.observer.events, () =>
      fixture.observer.events
        .list()
        .some(({ message = '' }) => message.includes('slipway rollout start manual')),
    );
    expect(toldTo('manual').filter((asked) => asked.startsWith('start'))).toEqual([]);

    await fixture.api.client.patch(
      ROLLOUT_POLICIES,
      { name: 'manual' },
      { spec: { trigger: 'Automatic' } },
    );
    await rollouts.until((asked) => asked === `start manual ${config}`);
  });

  it('because it is paused is started when it is resumed', async () => {
    const config = await aPoolBehind('paused', ['p1'], { paused: true });
    await settle();
    expect(toldTo('paused').filter((asked) => asked.startsWith('start'))).toEqual([]);

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'paused' },
      { spec: { paused: false } },
    );

    await rollouts.until((asked) => asked === `start paused ${config}`);
  });

  it('tells an open rollout of the pause', async () => {
    const since = rollouts.asked.length;

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'paused' },
      { spec: { paused: true } },
    );

    await rollouts.until(
      (asked) =>
        asked === 'wake paused: the pool changed' && rollouts.asked.indexOf(asked, since) >= since,
    );
  });

  it('because its rollout was cancelled is not restarted for this config, but for the next', async () => {
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
    expect(toldTo('cancelled').filter((asked) => asked.startsWith('start'))).toEqual([]);

    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig('90-next', 'cancelled', [aFile('/etc/n', 'n')]),
    );

    await rollouts.until(
      (asked) => asked.startsWith('start cancelled ') && !asked.includes(config),
    );
  });
});

describe('Temporal that is away', () => {
  it('is waited for, said once, and does not hold up rendering', async () => {
    rollouts.away = true;
    const config = await aPoolBehind('patient', ['q1']);
    await fixture.observer.pool('patient', ({ status }) => status?.machineCount === 1);
    await rollouts.untilUnanswered((asked) => asked === `retarget patient ${config}`);

    rollouts.away = false;

    await rollouts.until((asked) => asked === `start patient ${config}`);
    const said = (text: string): number =>
      fixture.controllers.lines.filter(
        (line) => line.includes(text) && !line.includes('"level":20'),
      ).length;
    expect(said('Temporal does not answer')).toBe(1);
    expect(said('Temporal answers again')).toBe(1);
  });
});
