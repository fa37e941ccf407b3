/**
 * Rendered configs as bytes, prepared once and kept in memory up to a bound. A rendered config never
 * changes under its name, so what is kept stays right also while the API server is away.
 */

import { createHash } from 'node:crypto';
import { canonicalConfig } from '../core/machine-config/canonical';
import type { MachineConfig } from '../core/machine-config/types';
import type { ReadMachineConfig } from './ports';

export interface StoredConfig {
  readonly name: string;
  /** Canonical bytes: what the digest of an order covers. */
  readonly bytes: Buffer;
  /** SHA-256 of the bytes, hex. */
  readonly digest: string;
  /** The pool that it was rendered for; absent on a MachineConfig that no pool owns. */
  readonly pool?: string;
}

export interface ConfigStore {
  /** @throws `ApiUnavailable` when it is not in memory and cannot be read */
  get(name: string): Promise<StoredConfig | undefined>;
  /** For metrics. */
  readonly counts: { hits: number; misses: number };
}

/** Two configs of two pools during a rollout, and some history. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/** Keeps the configs that were asked for last, up to `maxBytes` of them. */
export function createConfigStore(
  read: ReadMachineConfig,
  maxBytes: number = DEFAULT_MAX_BYTES,
): ConfigStore {
  // A Map remembers the order of insertion: the first entry is the one not used for longest.
  const kept = new Map<string, StoredConfig>();
  const underWay = new Map<string, Promise<StoredConfig | undefined>>();
  const counts = { hits: 0, misses: 0 };
  let size = 0;

  function keep(config: StoredConfig): void {
    kept.set(config.name, config);
    size += config.bytes.length;
    for (const [name, oldest] of kept) {
      if (size <= maxBytes || kept.size === 1) return;
      kept.delete(name);
      size -= oldest.bytes.length;
    }
  }

  async function load(name: string): Promise<StoredConfig | undefined> {
    const config = await read(name);
    if (config === undefined) return undefined;
    const stored = storedConfig(config);
    keep(stored);
    return stored;
  }

  return {
    counts,
    async get(name) {
      const known = kept.get(name);
      if (known !== undefined) {
        counts.hits += 1;
        kept.delete(name);
        kept.set(name, known);
        return known;
      }
      counts.misses += 1;
      // A pool that starts to roll asks for the same config many times at once.
      let loading = underWay.get(name);
      if (loading === undefined) {
        loading = load(name).finally(() => underWay.delete(name));
        underWay.set(name, loading);
      }
      return loading;
    },
  };
}

function storedConfig(config: MachineConfig): StoredConfig {
  const bytes = Buffer.from(canonicalConfig(config));
  const owner = config.metadata.ownerReferences?.find(({ kind }) => kind === 'MachineConfigPool');
  return {
    name: config.metadata.name,
    bytes,
    digest: createHash('sha256').update(bytes).digest('hex'),
    ...(owner === undefined ? {} : { pool: owner.name }),
  };
}
