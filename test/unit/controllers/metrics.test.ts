import { createMetrics } from '../../../controllers/metrics';
import type { KnownOfPools } from '../../../controllers/pool-progress';
import { ANNOTATION } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import { assignNodes } from '../../../core/pool/membership';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aNode, aPool, PREFIX } from './objects';

const failed = aNode({ name: 'bad', current: 'a', desired: 'b', state: 'Degraded' });
const bad = {
  ...failed,
  metadata: {
    ...failed.metadata,
    annotations: { ...failed.metadata.annotations, [`${PREFIX}/reason`]: 'x'.repeat(500) },
  },
};
const done = aNode({ name: 'good', current: 'b', desired: 'b', state: 'Done' });
const torn = aNode({ name: 'torn', roles: ['infra', 'gpu'] });
const master = aNode({ name: 'boss', roles: ['master', 'infra'] });

const MANUAL = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' as const } };

const pools = [
  aPool('master', { configuration: { name: 'b' } }),
  aPool('worker', { configuration: { name: 'b' } }),
  aPool('infra'),
  aPool('gpu'),
];

it('shows pools and nodes under the names that dashboards know', async () => {
  const metrics = createMetrics();
  const nodes = [bad, done, torn, master];

  metrics.poolsObserved(pools, nodes, assignNodes(nodes, pools));
  const text = await metrics.registry.metrics();

  expect(text).toContain('mco_machine_count{pool="worker"} 2');
  expect(text).toContain('mco_updated_machine_count{pool="worker"} 1');
  expect(text).toContain('mco_degraded_machine_count{pool="worker"} 1');
  expect(text).toContain('mco_unavailable_machine_count{pool="worker"} 0');
  expect(text).toContain('mcc_pool_alert{node="torn"} 1');
  expect(text).toContain('mcc_pool_alert{node="boss"} 1');
  expect(text).toContain('mco_state{pool="worker",node="good",state="Done",reason=""} 1');
  expect(text).toContain(`state="Degraded",reason="${'x'.repeat(120)}"} 1`);
});

it('forgets pools and nodes that are gone', async () => {
  const metrics = createMetrics();
  metrics.poolsObserved(pools, [bad, torn], assignNodes([bad, torn], pools));

  metrics.poolsObserved([], [], assignNodes([], []));
  const text = await metrics.registry.metrics();

  expect(text).not.toContain('pool="worker"');
  expect(text).not.toContain('node="torn"');
});

it('shows a failed drain until its node is updated', async () => {
  const metrics = createMetrics();
  const slow = aNode({ name: 'slow', current: 'a', desired: 'a' });
  const annotations = { ...slow.metadata.annotations, [ANNOTATION.DRAIN_TIMED_OUT]: 'then' };
  const timedOut = { ...slow, metadata: { ...slow.metadata, annotations } };
  const drainErrors = (): Promise<string> =>
    metrics.registry.getSingleMetricAsString('mcc_drain_err');

  metrics.poolsObserved(pools, [timedOut, done], assignNodes([timedOut, done], pools));
  expect(await drainErrors()).toMatch(/\nmcc_drain_err\{node="slow"\} 1$/);

  metrics.poolsObserved(pools, [slow, done], assignNodes([slow, done], pools));
  expect(await drainErrors()).not.toContain('{');
});

it('shows which conditions of a pool are True, and whether it is paused', async () => {
  const metrics = createMetrics();
  const of = (type: string, status: 'True' | 'False') => ({
    ...{ type, status, reason: '', message: '' },
  });
  const conditions = [of('Degraded', 'True'), of('RenderDegraded', 'True'), of('Updated', 'False')];
  const worker = aPool('worker', { paused: true }, { status: { conditions } });

  metrics.poolsObserved([worker], [done], assignNodes([done], [worker]));
  const text = await metrics.registry.metrics();

  expect(text).toContain('slipway_pool_condition{pool="worker",condition="RenderDegraded"} 1');
  expect(text).toContain('slipway_pool_condition{pool="worker",condition="Updated"} 0');
  expect(text).toContain('slipway_pool_condition{pool="worker",condition="NodeDegraded"} 0');
  expect(text).toContain('slipway_pool_paused{pool="worker"} 1');
});

it('shows an overridden image only for pools that it leads', async () => {
  const metrics = createMetrics();
  metrics.osImageOverridden('worker', true);
  const overrides = (): Promise<string> =>
    metrics.registry.getSingleMetricAsString('os_image_url_override');

  metrics.poolsObserved(pools, [done], assignNodes([done], pools));
  expect(await overrides()).toContain('os_image_url_override{pool="worker"} 1');

  metrics.poolsObserved([], [], assignNodes([], []));
  expect(await overrides()).not.toContain('{');
});

describe('what a pool waits for', () => {
  const MINUTE = 60_000;
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const at = (minutesAgo: number): string =>
    new Date(Date.now() - minutesAgo * MINUTE).toISOString();
  const behind = (name: string, minutes: number, more = {}) => {
    const node = aNode({ name, current: 'a', desired: 'a', state: 'Done', ...more });
    return { ...node, metadata: { ...node.metadata, creationTimestamp: at(minutes) } };
  };
  const pool = (spec = {}) =>
    aPool(
      'worker',
      { configuration: { name: 'b' }, maxUnavailable: 3, ...spec },
      {
        status: {
          conditions: [
            {
              type: 'Updated',
              status: 'False',
              reason: '',
              message: '',
              lastTransitionTime: at(30),
            },
          ],
        },
      },
    );

  async function shown(nodes: readonly Node[], worker = pool()): Promise<string> {
    const metrics = createMetrics();
    metrics.poolsObserved([worker], nodes, assignNodes(nodes, [worker]));
    return metrics.registry.metrics();
  }
  const age = (text: string): number =>
    Number(/slipway_pool_oldest_pending_age_seconds\{pool="worker"\} (\S+)/.exec(text)?.[1]);

  it('shows where the nodes stand, and which of them take a slot', async () => {
    const text = await shown([
      done,
      bad,
      behind('waits', 90),
      behind('away', 90, { ready: false }),
      behind('skipped', 90, { held: 'b' }),
    ]);

    expect(text).toContain('slipway_pool_nodes{pool="worker",place="updated"} 1');
    expect(text).toContain('slipway_pool_nodes{pool="worker",place="pending"} 2');
    expect(text).toContain('slipway_pool_nodes{pool="worker",place="failed"} 1');
    expect(text).toContain('slipway_pool_nodes{pool="worker",place="held"} 1');
    expect(text).toContain('slipway_pool_slots{pool="worker"} 3');
    expect(text).toContain('slipway_pool_slots_in_use{pool="worker"} 1');
  });

  it('ages a node from when the pool fell behind, or from when it joined', async () => {
    expect(age(await shown([behind('old', 90)]))).toBe(30 * 60);
    expect(age(await shown([behind('young', 4)]))).toBe(4 * 60);
    expect(age(await shown([done, behind('skipped', 90, { held: 'b' })]))).toBe(0);
  });

  describe('the progress of a rollout', () => {
    const progressAge = async (
      nodes: readonly Node[],
      options: { readonly worker?: MachineConfigPool; readonly known?: Partial<KnownOfPools> } = {},
    ): Promise<number> => {
      const { worker = pool(), known } = options;
      const metrics = createMetrics();
      metrics.poolsObserved([worker], nodes, assignNodes(nodes, [worker]), {
        ...{ machineConfigNode: () => undefined, policy: () => undefined },
        ...known,
      });
      const text = await metrics.registry.metrics();
      const [, seconds] =
        /slipway_pool_progress_age_seconds\{pool="worker"\} (\S+)/.exec(text) ?? [];
      return Number(seconds);
    };
    const changed = (type: string, minutesAgo: number) => () => ({
      metadata: { name: 'n' },
      spec: { node: { name: 'n' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
      status: {
        conditions: [
          {
            ...{ type, status: 'True' as const, reason: '', message: '' },
            lastTransitionTime: at(minutesAgo),
          },
        ],
      },
    });

    it('ages from when the pool fell behind, or from the last step of an update', async () => {
      const nodes = [behind('a', 90)];

      expect(await progressAge(nodes)).toBe(30 * 60);
      const drained = { machineConfigNode: changed('Drained', 2) };
      expect(await progressAge(nodes, { known: drained })).toBe(2 * 60);
    });

    it.each([
      'Drifted',
      'ForeignUpdater',
      'HostBundle',
      'PinnedImageSetsProgressing',
      'PinnedImageSetsDegraded',
    ])('does not begin anew with %s, which is not about updates', async (type) => {
      const known = { machineConfigNode: changed(type, 2) };

      expect(await progressAge([behind('a', 90)], { known })).toBe(30 * 60);
    });

    it.each([
      ['the pool is paused', [behind('a', 90)], { worker: pool({ paused: true }) }],
      ['it waits for a person', [behind('a', 90)], { known: { policy: () => MANUAL } }],
      ['no node is left that it could update', [done, bad], {}],
    ])('has no age while %s', async (_why, nodes, options) => {
      expect(await progressAge(nodes, options)).toBe(0);
    });
  });

  describe('idle slots', () => {
    const waiting = [behind('a', 1), behind('b', 1), behind('c', 1)];
    const idle = async (metrics: ReturnType<typeof createMetrics>): Promise<number> => {
      const text = await metrics.registry.metrics();
      return Number(/slipway_pool_slot_idle_seconds_total\{pool="worker"\} (\S+)/.exec(text)?.[1]);
    };
    const observe = (
      metrics: ReturnType<typeof createMetrics>,
      nodes: readonly Node[],
      worker = pool({ maxUnavailable: 2 }),
    ): void => {
      metrics.poolsObserved([worker], nodes, assignNodes(nodes, [worker]));
    };

    it('count while a node waits that could have them', async () => {
      const metrics = createMetrics();
      observe(metrics, waiting);
      jest.advanceTimersByTime(10_000);
      expect(await idle(metrics)).toBe(20);

      observe(metrics, [behind('a', 1, { ready: false }), ...waiting.slice(1)]);
      jest.advanceTimersByTime(5_000);
      observe(metrics, [done]);
      jest.advanceTimersByTime(60_000);

      expect(await idle(metrics)).toBe(25);
    });

    it('count once per node that waits', async () => {
      const metrics = createMetrics();
      observe(metrics, [behind('a', 1)]);
      jest.advanceTimersByTime(10_000);

      expect(await idle(metrics)).toBe(10);
    });

    it.each([
      ['the pool is paused', waiting, { paused: true }],
      ['a person has cordoned the node', [behind('a', 1, { cordoned: true })], {}],
      ['the node has failed or is held', [bad, behind('b', 1, { held: 'b' })], {}],
    ])('do not count while %s', async (_why, nodes, spec) => {
      const metrics = createMetrics();
      observe(metrics, nodes, pool({ maxUnavailable: 2, ...spec }));
      jest.advanceTimersByTime(10_000);

      expect(await idle(metrics)).toBe(0);
    });
  });

  it('shows no slots for a pool with an impossible maxUnavailable', async () => {
    const text = await shown([done], pool({ maxUnavailable: 'many' }));

    expect(text).not.toContain('slipway_pool_slots{');
    expect(text).toContain('slipway_pool_slots_in_use{pool="worker"} 0');
  });
});
