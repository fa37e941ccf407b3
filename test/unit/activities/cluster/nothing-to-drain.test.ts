import { refuseToReboot } from '../../../../activities/cluster/check-cordon';
import { mustLeave, nothingToDrain } from '../../../../activities/cluster/nothing-to-drain';
import type { ActivityRun, ClusterPorts, PodPort } from '../../../../activities/cluster/ports';
import type { Node } from '../../../../core/node/types';
import type { Pod } from '../../../../core/drain';

const DRAIN = { timeoutSeconds: 60, onTimeout: 'RetryLater' } as const;
const NOW = Date.parse('2026-03-01T10:00:00Z');
const NINE_HOURS_MS = 9 * 3_600_000;

function aPod(name: string, owner?: { readonly kind: string; readonly name: string }): Pod {
  return {
    metadata: {
      ...{ name, namespace: 'shop', uid: `uid-of-${name}` },
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ apiVersion: 'apps/v1', uid: 'o', controller: true, ...owner }] }),
    },
    spec: {},
    status: { phase: 'Running' },
  };
}

/** A node with these pods; without a list when they cannot be read. */
function attemptWith(
  pods: readonly Pod[] | 'unknown',
  signal = new AbortController().signal,
  nodes = ['n', 'another'],
) {
  const follow: PodPort['follow'] = (_node, handler, until) =>
    new Promise((resolve) => {
      until.addEventListener('abort', () => {
        resolve();
      });
      if (pods !== 'unknown') handler.listed(pods);
    });
  const ports = {
    view: {
      nodes: { list: () => nodes.map((name) => ({ metadata: { name } })) },
      budgets: { list: () => [] },
      daemonSets: { get: (name: string) => (name === 'logs' ? { metadata: { name } } : undefined) },
    },
    pods: { follow },
    // The clock of this worker is wrong.
    now: () => NOW + NINE_HOURS_MS,
  };
  const run = { signal, temporalNow: () => NOW };
  return { ports: ports as unknown as ClusterPorts, run: run as unknown as ActivityRun };
}

function looked(
  { ports, run }: ReturnType<typeof attemptWith>,
  drain: Parameters<typeof nothingToDrain>[1]['drain'] = DRAIN,
) {
  return nothingToDrain(ports, { run, node: 'n', drain });
}

describe('the only node of a cluster', () => {
  it('has nothing to drain, whatever is on it, and whether that is known or not', async () => {
    const { signal } = new AbortController();
    for (const pods of [[aPod('cart-1')], 'unknown'] as const) {
      const { ports, run } = attemptWith(pods, signal, ['n']);
      await expect(nothingToDrain(ports, { run, node: 'n', drain: DRAIN })).resolves.toEqual({
        evicted: 0,
        left: 0,
      });
      await expect(mustLeave(ports, { run, node: 'n', drain: DRAIN })).resolves.toBe(false);
    }
  });
});

describe('before its reboot', () => {
  const run = { id: 'r', startedAt: '2030-01-01T00:00:00Z' };
  const of = { node: 'n', pool: 'worker', config: 'c', workflowId: 'update-node/n', run };
  const step = { ...of, drain: DRAIN };
  const uncordoned: Node = { metadata: { name: 'n' } };
  const byPerson: Node = { ...uncordoned, spec: { unschedulable: true } };

  it('only the only node of a cluster may be without a cordon', () => {
    expect(() => refuseToReboot(uncordoned, step, true)).not.toThrow();
    expect(() => refuseToReboot(uncordoned, step)).toThrow('was uncordoned');
    expect(() => refuseToReboot(byPerson, step, true)).toThrow('cordoned anew');
  });
});

describe('a cordoned node', () => {
  it('without pods is drained', async () => {
    await expect(looked(attemptWith([]))).resolves.toEqual({
      evicted: 0,
      left: 0,
    });
  });

  it('with nothing but pods that stay is drained', async () => {
    const attempt = attemptWith([aPod('logs-1', { kind: 'DaemonSet', name: 'logs' })]);

    await expect(looked(attempt)).resolves.toEqual({ evicted: 0, left: 1 });
  });

  it.each<[string, Pod]>([
    ['a pod of a workload', aPod('cart', { kind: 'ReplicaSet', name: 'cart' })],
    ['a pod that nobody manages', aPod('alone')],
    ['a pod whose DaemonSet is gone', aPod('old-1', { kind: 'DaemonSet', name: 'old' })],
  ])('with %s has to be drained', async (_what, pod) => {
    await expect(looked(attemptWith([pod]))).resolves.toBeUndefined();
  });

  it('is not empty while a pod has its grace period, whatever the clock of the worker says', async () => {
    const drain = { ...DRAIN, skipWaitForDeleteTimeoutSeconds: 60 };
    const { metadata, ...pod } = aPod('cart', { kind: 'ReplicaSet', name: 'cart' });
    const grace = { deletionTimestamp: '2026-03-01T10:29:00Z', deletionGracePeriodSeconds: 1_800 };
    const attempt = attemptWith([{ metadata: { ...metadata, ...grace }, ...pod }]);

    await expect(looked(attempt, drain)).resolves.toBeUndefined();
    const { ports, run } = attempt;
    await expect(mustLeave(ports, { run, node: 'n', drain })).resolves.toBe(true);
  });

  it('whose pods cannot be read in time is left to the drain', async () => {
    jest.useFakeTimers();
    const outcome = looked(attemptWith('unknown'));

    await jest.advanceTimersByTimeAsync(2_000);

    await expect(outcome).resolves.toBeUndefined();
    jest.useRealTimers();
  });

  it('is not checked by an attempt that was given up', async () => {
    await expect(looked(attemptWith([], AbortSignal.abort()))).resolves.toBeUndefined();
  });
});
