/**
 * How late KWOK renews the Leases of its nodes: on a busy machine the controller manager then calls
 * nodes Unknown, which is no effect of Slipway.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../tools/cluster/api-client';

/** Each check reads all Leases. */
const LOOK_EVERY_MS = 15_000;

/** From the API server's cache, to spare etcd. */
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?resourceVersion=0';

interface LeaseList {
  readonly items: readonly { readonly spec?: { readonly renewTime?: string } }[];
}

export interface LeaseAge {
  /** Of any Lease at a check. */
  readonly oldestSeconds: number;
  readonly looks: number;
  /** Without an answer. The more there are, the less `oldestSeconds` says. */
  readonly failedLooks: number;
}

export interface LeaseWatch {
  soFar(): LeaseAge;
  stop(): Promise<void>;
}

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

/** In ms; Leases that were never renewed do not count. */
export function oldestOf({ items }: LeaseList, atMs: number): number {
  const times = items.flatMap(({ spec }) =>
    spec?.renewTime === undefined ? [] : [Date.parse(spec.renewTime)],
  );
  return times.reduce((oldest, time) => Math.max(oldest, atMs - time), 0);
}
