/** Deletes unused rendered configs, long after the render that replaced them. */

import { MACHINE_CONFIGS } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { BY_POOL, owningPools, type ClusterPicture } from '../cluster-picture';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { findGarbage } from './garbage';

/** Nobody waits for it. */
const COALESCING = { quietMs: 1_000, longestMs: 30_000 };

interface GarbageDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly log: Log;
  readonly keepRendered: number;
}

export class GarbageController {
  readonly #deps: GarbageDeps;
  readonly #queue: WorkQueue;

  constructor(deps: GarbageDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#queue = new WorkQueue(
      {
        work: (pool) => this.#cleanUp(pool),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'unused rendered configs stay for now');
        },
        ...COALESCING,
      },
      leading,
    );
    const { machineConfigs, pools } = deps.picture;
    const subscriptions = [
      machineConfigs.subscribe((event) => {
        if (event.type !== 'added') return;
        for (const pool of owningPools(event.object)) this.#queue.add(pool);
      }),
      // A pool on its target no longer uses its old config.
      pools.subscribe((event) => {
        if (event.type !== 'modified') return;
        const before = event.previous.status?.configuration?.name;
        const { metadata, status } = event.object;
        if (before !== status?.configuration?.name) this.#queue.add(metadata.name);
      }),
    ];
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    for (const pool of pools.list()) this.#queue.add(pool.metadata.name);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #cleanUp(pool: string): Promise<void> {
    const { picture, writer, log, keepRendered } = this.#deps;
    const garbage = findGarbage({
      configs: picture.machineConfigs.byIndex(BY_POOL, pool),
      pools: picture.pools.list(),
      nodes: picture.nodes.list(),
      machineConfigNodes: picture.machineConfigNodes.list(),
      keep: keepRendered,
    });
    for (const config of garbage) {
      await writer.delete(MACHINE_CONFIGS, config);
      log.info({ pool, config: config.metadata.name }, 'deleted an unused rendered config');
    }
  }
}
