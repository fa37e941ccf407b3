/**
 * Caches rendered configs as bytes. A config can be deleted and made again under its name, so an
 * entry is checked again after a while; it is served on while the API server is away.
 */

import { createHash } from 'node:crypto';
import { failureName } from '../core/errors';
import { canonicalConfig } from '../core/machine-config/canonical';
import type { MachineConfig } from '../core/machine-config/types';
import type { ReadMachineConfig } from './ports';

interface StoredConfig {
  readonly name: string;
  /** Canonical bytes, which the digest in an order covers. */
  readonly bytes: Buffer;
  readonly digest: string;
  /** The pool that owns it; absent on a MachineConfig without a pool. */
  readonly pool?: string;
}

export interface ConfigStore {
  /** @throws `ApiUnavailable` when it is not in memory and cannot be read */
  get(name: string): Promise<StoredConfig | undefined>;
  readonly counts: { hits: number; misses: number };
}

/** Two configs of two pools during a rollout, and some history. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;

/** One read per this many milliseconds serves all requests of a pool that rolls out. */
const FRESH_MS = 10_000;

interface ConfigStoreOptions {
  readonly maxBytes?: number | undefined;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

interface KeptConfig extends StoredConfig {
  /** `uid/resourceVersion`: equal means equal bytes. */
  readonly version: string | undefined;
  readonly readAt: number;
}

/** Keeps the configs that were requested last, up to `maxBytes`. */
export function createConfigStore(
  read: ReadMachineConfig,
  { maxBytes = DEFAULT_MAX_BYTES, now = () => performance.now() }: ConfigStoreOptions = {},
): ConfigStore {
  // A Map keeps the order of insertion: the first entry was unused for longest.
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

/** Without the API server the cached bytes are served: the host checks the digest. */
function servedAnyway(error: unknown, known: StoredConfig | undefined): StoredConfig {
  if (known !== undefined && failureName(error) === 'ApiUnavailable') return known;
  throw error;
}

/** Undefined without uid or resourceVersion: the bytes are then prepared again. */
function versionOf({ metadata: { uid, resourceVersion } }: MachineConfig): string | undefined {
  return uid === undefined || resourceVersion === undefined
    ? undefined
    : `${uid}/${resourceVersion}`;
}

/** A small `Buffer.from` is a slice of Node's 64 KiB pool and would keep all of it alive. */
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
