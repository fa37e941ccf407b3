import { fail } from '../../../core/errors';
import { OLDER_AT_ONCE, SETTLE_MS, showOlderBundles } from '../../../server/bundles/older';

const WORKER = 'node-role.kubernetes.io/worker';
const BUNDLE = { pool: 'worker', files: [], keeps: [], digest: 'a'.repeat(64) };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

function aCluster(count: number) {
  const state = { missing: [] as string[], away: false, atOnce: 0, most: 0 };
  const told: string[] = [];
  const nodes = [
    ...Array.from({ length: count }, (_, index) => ({
      metadata: { name: `worker-${index}`, labels: { [WORKER]: '' } },
    })),
    { metadata: { name: 'lost', labels: {} } },
  ];
  const older = showOlderBundles({
    cluster: {
      node: (name) => nodes.find(({ metadata }) => metadata.name === name),
      nodes: () => nodes,
      pools: () => [
        { metadata: { name: 'worker' }, spec: { nodeSelector: { matchLabels: { [WORKER]: '' } } } },
      ],
      missing: () => state.missing,
    },
    bundles: { bundleOf: () => BUNDLE },
    recorder: {
      async recordOlder(node) {
        state.atOnce += 1;
        state.most = Math.max(state.most, state.atOnce);
        await Promise.resolve();
        state.atOnce -= 1;
        if (state.away) throw fail('ApiUnavailable', 'connection refused');
        told.push(node);
      },
    },
    log: { warn: () => undefined },
  });
  const settle = () => jest.advanceTimersByTimeAsync(2 * SETTLE_MS);
  return { state, told, older, settle };
}

it('looks at each node of a pool once after some changes, and at a few at once', async () => {
  const { state, told, older, settle } = aCluster(20);

  older.changed();
  older.changed();
  expect(told).toEqual([]);
  await settle();
  await settle();

  expect(new Set(told).size).toBe(20);
  expect(told).toHaveLength(20);
  expect(told).not.toContain('lost');
  expect(state.most).toBe(OLDER_AT_ONCE);
});

it('tries again when the API server is away, and when the cluster is not known yet', async () => {
  const { state, told, older, settle } = aCluster(1);
  state.missing = ['nodes'];
  older.changed();
  await settle();
  state.missing = [];
  state.away = true;
  await settle();
  expect(told).toEqual([]);
  state.away = false;
  await settle();

  expect(told).toEqual(['worker-0']);
});

it('does nothing after the server has ended', async () => {
  const { told, older, settle } = aCluster(1);
  older.changed();
  older.stop();
  older.changed();
  await settle();

  expect(told).toEqual([]);
});
