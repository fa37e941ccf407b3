/**
 * Caches rendered configs as bytes. A config can be deleted and made again under its name, so
 * entries are checked again; they are served while the API server is away.
 */

import { createHash } from 'node:crypto';
import { failureName } from '../core/errors';
import { canonicalConfig } from '../core/machine-config/canonical';
import type { MachineConfig } from '../core/machine-config/types';
import type { ReadMachineConfig } from './ports';

interface StoredConfig {
  readonly name: string;
  /** Canonical; the digest in an order covers them. */
  readonly bytes: Buffer;
  readonly digest: string;
  /** Absent on a MachineConfig without a pool. */
  readonly pool?: string;
}

export interface ConfigStore {
  /** @throws `ApiUnavailable` when it is neither in memory nor readable */
  get(name: string): Promise<StoredConfig | undefined>;
  readonly counts: { hits: number; misses: number };
}

/** Two configs of two pools, and some history. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/** One read serves a pool that rolls out. */
const FRESH_MS = 10_000;

interface ConfigStoreOptions {
  readonly maxBytes?: number | undefined;
  /** Monotonic, milliseconds. */
  readonly now?: () => number;
}

interface KeptConfig extends StoredConfig {
  /** `uid/resourceVersion`: equal means equal bytes. */
  readonly version: string | undefined;
  readonly readAt: number;
}

/** Drops the least recently requested. */
export function createConfigStore(
  read: ReadMachineConfig,
  { maxBytes = DEFAULT_MAX_BYTES, now = () => performance.now() }: ConfigStoreOptions = {},
): ConfigStore {
  // The first entry of a Map was unused for longest.
  const kept = new Map<string, KeptConfig>();
  const underWay = new Map<string, Promise<StoredConfig | undefined>>();
  const counts = { hits: 0, misses: 0 };
  let size = 0;

  function drop(name: string): void {
    size -= kept.get(name)?.bytes.length ?? 0;
    kept.delete(name);
  }

  function keep(config: KeptConfig): void {
    drop(config.name);
    kept.set(config.name, config);
    size += config.bytes.length;
    for (const name of kept.keys()) {
      if (size <= maxBytes || kept.size === 1) return;
      drop(name);
    }
  }

  async function load(name: string): Promise<StoredConfig | undefined> {
    const readAt = now();
    const config = await read(name);
    if (config === undefined) {
      drop(name);
      return undefined;
    }
    const known = kept.get(name);
    const version = versionOf(config);
    const isSame = version !== undefined && known?.version === version;
    const entry = { ...(isSame ? known : storedConfig(config)), version, readAt };
    keep(entry);
    return entry;
  }

  return {
    counts,
    async get(name) {
      const known = kept.get(name);
      if (known !== undefined && now() - known.readAt < FRESH_MS) {
        counts.hits += 1;
        kept.delete(name);
        kept.set(name, known);
        return known;
      }
      counts.misses += 1;
      // A pool that starts a rollout requests one config many times at once.
      let loading = underWay.get(name);
      if (loading === undefined) {
        loading = load(name)
          .catch((error: unknown) => servedAnyway(error, kept.get(name)))
          .finally(() => underWay.delete(name));
        underWay.set(name, loading);
      }
      return loading;
    },
  };
}

/** The host checks the digest. */
function servedAnyway(error: unknown, known: StoredConfig | undefined): StoredConfig {
  if (known !== undefined && failureName(error) === 'ApiUnavailable') return known;
  throw error;
}

/** Undefined: the bytes are prepared again. */
function versionOf({ metadata: { uid, resourceVersion } }: MachineConfig): string | undefined {
  return uid === undefined || resourceVersion === undefined
    ? undefined
    : `${uid}/${resourceVersion}`;
}

/** A small `Buffer.from` would keep all of Node's 64 KiB pool alive. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

function storedConfig(config: MachineConfig): StoredConfig {
  const bytes = bytesOf(canonicalConfig(config));
  const owner = config.metadata.ownerReferences?.find(({ kind }) => kind === 'MachineConfigPool');
  return {
    name: config.metadata.name,
    bytes,
    digest: createHash('sha256').update(bytes).digest('hex'),
    ...(owner === undefined ? {} : { pool: owner.name }),
  };
}
