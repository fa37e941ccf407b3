/**
 * How late the kubelets that KWOK plays renew their Leases. On a full machine that is what the controller manager
 * calls a node Unknown for, and whoever measures must be able to tell it from what Slipway does to a node.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../tools/cluster/api-client';

/** Each look reads all Leases, half a kilobyte each. */
const LOOK_EVERY_MS = 15_000;

/** Out of the API server's cache: etcd has enough to do, and what is a moment late there is what others see, too. */
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?resourceVersion=0';

interface LeaseList {
  readonly items: readonly { readonly spec?: { readonly renewTime?: string } }[];
}

export interface LeaseAge {
  /** The most that any Lease was old when it was looked at. */
  readonly oldestSeconds: number;
  readonly looks: number;
  /** Of them: got no answer. The figure is worth as much as the others. */
  readonly failedLooks: number;
}

export interface LeaseWatch {
  soFar(): LeaseAge;
  stop(): Promise<void>;
}

/** Looks at once, and then every 15 s. */
export function watchLeases(api: ApiClient): LeaseWatch {
  const end = new AbortController();
  let seen: LeaseAge = { oldestSeconds: 0, looks: 0, failedLooks: 0 };
  const look = async (): Promise<void> => {
    const oldestMs = await api.call<LeaseList>('GET', LEASES).then(
      (list) => oldestOf(list, Date.now()),
      () => undefined,
    );
    seen = {
      oldestSeconds: Math.max(seen.oldestSeconds, Math.round((oldestMs ?? 0) / 1000)),
      looks: seen.looks + 1,
      failedLooks: seen.failedLooks + (oldestMs === undefined ? 1 : 0),
    };
  };
  const looking = (async () => {
    while (!end.signal.aborted) {
      await look();
      await delay(LOOK_EVERY_MS, undefined, { signal: end.signal }).catch(() => undefined);
    }
  })();
  return {
    soFar: () => seen,
    stop: async () => {
      end.abort();
      await looking;
    },
  };
}

/** The age of the Lease that was renewed first, in ms; those never renewed yet do not count. */
export function oldestOf({ items }: LeaseList, atMs: number): number {
  const times = items.flatMap(({ spec }) =>
    spec?.renewTime === undefined ? [] : [Date.parse(spec.renewTime)],
  );
  return times.reduce((oldest, time) => Math.max(oldest, atMs - time), 0);
}
