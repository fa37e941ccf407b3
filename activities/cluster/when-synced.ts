import { fail } from '../../core/errors';
import type { PictureVersions } from '../../workflows/contracts/cluster';
import type { ClusterView, DatedLookup, Lookup } from './ports';

/** A longer wait fails and is retried, so that it is seen. */
const PATIENCE_MS = 8_000;

/**
 * The cache of this process may lag behind that of another one; it usually catches up in this time.
 */
const CATCH_UP_MS = 5_000;

/** @throws `ApiUnavailable` when the first list does not come */
export async function whenSynced(lookups: readonly Lookup<unknown>[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(fail('ApiUnavailable', 'the watches of the cluster have not caught up yet'));
    }, PATIENCE_MS);
  });
  try {
    await Promise.race([Promise.all(lookups.map(({ synced }) => synced)), patience]);
  } finally {
    clearTimeout(timer);
  }
}

type Dated = Pick<ClusterView, keyof PictureVersions>;

/**
 * Waits until a cache is as new as another one, so that a caller never sees an older state.
 *
 * @param bringUpToDate - refreshes the nodes when their watch does not
 * @throws `WatchBehind` when it stays behind; `ApiUnavailable`
 */
export async function whenAsNew(
  view: Dated,
  { nodes, pools, policies }: PictureVersions,
  bringUpToDate: () => Promise<void>,
): Promise<void> {
  const kinds: readonly (readonly [string, DatedLookup<unknown>, number])[] = [
    ['nodes', view.nodes, nodes],
    ['machineconfigpools', view.pools, pools],
    ['rolloutpolicies', view.policies, policies],
  ];
  await Promise.all(
    kinds.map(async ([kind, lookup, version]) => {
      if (await lookup.reached(version, CATCH_UP_MS)) return;
      if (lookup === view.nodes) {
        await bringUpToDate();
        if (await lookup.reached(version, 0)) return;
      }
      const behind = `the watch of ${kind} is behind: version ${version} was seen already`;
      throw fail('WatchBehind', `${behind} by another cluster worker, or by the controllers`);
    }),
  );
}
