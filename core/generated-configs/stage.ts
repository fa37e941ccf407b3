/**
 * Objects and MachineConfigs as they will be after the writes that were decided so far: the next
 * object gets its number knowing those of the ones before.
 */

import type { KnownConfig, Origin } from './types';
import type { Write } from './sync';

export class Stage {
  readonly #origins: Map<string, Origin>;
  readonly #configs: Map<string, KnownConfig>;

  constructor(origins: readonly Origin[], configs: readonly KnownConfig[]) {
    this.#origins = new Map(origins.map((origin) => [origin.metadata.name, origin]));
    this.#configs = new Map(configs.map((config) => [config.metadata.name, config]));
  }

  get origins(): readonly Origin[] {
    return [...this.#origins.values()];
  }

  get configs(): readonly KnownConfig[] {
    return [...this.#configs.values()];
  }

  /** The writes, which count from now on. */
  played(origin: Origin, writes: readonly Write[]): readonly Write[] {
    for (const write of writes) {
      if (write.do === 'create' || write.do === 'replace') {
        this.#configs.set(write.config.metadata.name, write.config);
      } else if (write.do === 'remove') this.#configs.delete(write.name);
      else if (write.do === 'mark') {
        const { annotations, finalizers } = write;
        const metadata = { ...origin.metadata, annotations, finalizers };
        this.#origins.set(origin.metadata.name, { ...origin, metadata });
      }
    }
    return writes;
  }
}
