import { fail } from '../../core/errors';
import type { Lookup } from './ports';

/** A longer wait fails and is retried, so that it is seen. */
const PATIENCE_MS = 8_000;

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
