/** PoolRollouts at the API server: read and written there, because a cache is too old to give grants by. */

import { failureName } from '../../core/errors';
import type { PoolRollout, PoolRolloutStatus } from '../../core/rollout/pool-rollout';
import type { KubeClient } from './client';
import { apiVersionOf, MACHINE_CONFIG_POOLS, POOL_ROLLOUTS } from './resources';

export class PoolRolloutStore {
  constructor(
    readonly client: KubeClient,
    readonly fieldManager: string,
  ) {}

  /** Undefined = there is none. */
  async read(pool: string): Promise<PoolRollout | undefined> {
    try {
      return await this.client.get(POOL_ROLLOUTS, { name: pool });
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      return undefined;
    }
  }

  /** Owned by its pool, and gone with it. @throws `Conflict` when there is one by now */
  create({ name, uid }: { readonly name: string; readonly uid: string }): Promise<PoolRollout> {
    const { kind } = MACHINE_CONFIG_POOLS;
    const owner = { apiVersion: apiVersionOf(MACHINE_CONFIG_POOLS), kind, name, uid };
    const metadata = { name, ownerReferences: [owner] };
    return this.client.create(POOL_ROLLOUTS, { metadata }, this.#how);
  }

  /** @throws `Conflict` when it has changed since it was read */
  delete({ metadata }: PoolRollout): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    return this.client.delete(
      POOL_ROLLOUTS,
      { name },
      {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
    );
  }

  /** @throws `Conflict` when it has changed since it was read, `ObjectNotFound` */
  writeStatus(rollout: PoolRollout, status: PoolRolloutStatus): Promise<PoolRollout> {
    return this.client.replace(
      POOL_ROLLOUTS,
      { ...rollout, status },
      { ...this.#how, subresource: 'status' },
    );
  }

  get #how() {
    return { fieldManager: this.fieldManager };
  }
}
