/** The statements that roll the keys of orders, for hosts that get no orders meanwhile. */

import { WatchCache } from '../adapters/kube';
import { CONFIG_MAPS } from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import type { WatchSource } from '../adapters/kube/watch';
import { messageOf } from '../core/errors';
import { NAMESPACE, ORDER_KEYS_CONFIG_MAP } from '../core/names';
import { readStatements, type SignedText } from '../core/orders';

export interface FollowedStatements {
  /** As the cluster worker has published them; none = the key was never rolled. */
  statements(): readonly SignedText[];
  run(source: WatchSource, signal: AbortSignal): Promise<void>;
}

/** Nobody has to trust the server with it: hosts believe what a key has signed that they know. */
export function followStatements(log: Log): FollowedStatements {
  const fieldSelector = `metadata.name=${ORDER_KEYS_CONFIG_MAP}`;
  const cache = new WatchCache({ resource: CONFIG_MAPS, namespace: NAMESPACE, fieldSelector, log });
  let statements: readonly SignedText[] = [];
  const read = (): void => {
    const text = cache.get(ORDER_KEYS_CONFIG_MAP, NAMESPACE)?.data?.['statements.json'];
    try {
      statements = text === undefined ? [] : readStatements(text);
    } catch (error) {
      const object = `configmap ${NAMESPACE}/${ORDER_KEYS_CONFIG_MAP}`;
      log.warn({ object, reason: messageOf(error) }, 'hosts are not told the keys of orders');
    }
  };
  cache.subscribe(read);
  void cache.synced.then(read);
  return { statements: () => statements, run: (source, signal) => cache.run(source, signal) };
}
