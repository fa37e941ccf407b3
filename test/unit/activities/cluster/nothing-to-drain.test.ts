import { nothingToDrain } from '../../../../activities/cluster/nothing-to-drain';
import type { ClusterPorts, PodPort } from '../../../../activities/ports';
import type { Pod } from '../../../../core/drain';

const DRAIN = { timeoutSeconds: 60, onTimeout: 'RetryLater' } as const;

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

/** A node with these pods; without any list when they cannot be read. */
function portsWith(pods: readonly Pod[] | 'unknown', signal = new AbortController().signal) {
  const follow: PodPort['follow'] = (_node, handler, until) =>
    new Promise((resolve) => {
      until.addEventListener('abort', () => {
        resolve();
      });
      if (pods !== 'unknown') handler.listed(pods);
    });
  const ports = {
    view: {
      budgets: { list: () => [] },
      daemonSets: { get: (name: string) => (name === 'logs' ? { metadata: { name } } : undefined) },
    },
    pods: { follow },
    run: () => ({ signal }),
    now: () => 0,
  };
  return ports as unknown as ClusterPorts;
}

describe('a cordoned node', () => {
  it('without pods is drained', async () => {
    await expect(nothingToDrain(portsWith([]), 'n', DRAIN)).resolves.toEqual({
      evicted: 0,
      left: 0,
    });
  });

  it('with nothing but pods that stay is drained', async () => {
    const ports = portsWith([aPod('logs-1', { kind: 'DaemonSet', name: 'logs' })]);

    await expect(nothingToDrain(ports, 'n', DRAIN)).resolves.toEqual({ evicted: 0, left: 1 });
  });

  it.each<[string, Pod]>([
    ['a pod of a workload', aPod('cart', { kind: 'ReplicaSet', name: 'cart' })],
    ['a pod that nobody manages', aPod('alone')],
    ['a pod whose DaemonSet is gone', aPod('old-1', { kind: 'DaemonSet', name: 'old' })],
  ])('with %s has to be drained', async (_what, pod) => {
    await expect(nothingToDrain(portsWith([pod]), 'n', DRAIN)).resolves.toBeUndefined();
  });

  it('whose pods cannot be read in time is left to the drain', async () => {
    jest.useFakeTimers();
    const looked = nothingToDrain(portsWith('unknown'), 'n', DRAIN);

    await jest.advanceTimersByTimeAsync(2_000);

    await expect(looked).resolves.toBeUndefined();
    jest.useRealTimers();
  });

  it('is not looked at by an attempt that was given up', async () => {
    await expect(
      nothingToDrain(portsWith([], AbortSignal.abort()), 'n', DRAIN),
    ).resolves.toBeUndefined();
  });
});
