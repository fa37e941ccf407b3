/**
 * The prepared bytes per pool and version. When the config changes, requested versions are prepared
 * at once and requests wait: no machine gets an outdated config.
 */

import type { OutputVersion } from '../../core/ignition';
import type { Prepared, Preparer } from './prepare';
import type { ServedConfig } from './source';

export interface Shelf {
  /**
   * At once when they are prepared.
   *
   * @throws (rejects) when preparing failed for a reason outside the config; the next call tries
   *   again
   */
  get(served: ServedConfig, version: OutputVersion): Prepared | Promise<Prepared>;
  /** Prepares versions that machines of the pool request. */
  warm(served: ServedConfig): void;
  forget(pool: string): void;
  readonly size: number;
}

interface ShelfOptions {
  readonly preparer: Preparer;
  /** Of plain bytes; more is refused. */
  readonly maxBytes: number;
  /** The duration of each preparation. */
  readonly prepared?: (seconds: number) => void;
}

/** Current machines request this version. */
const USUAL: OutputVersion = '3.5';

interface Slot {
  readonly key: string;
  readonly versions: Map<OutputVersion, { ready?: Prepared; readonly under: Promise<Prepared> }>;
}

export function createShelf({ preparer, maxBytes, prepared }: ShelfOptions): Shelf {
  const slots = new Map<string, Slot>();

  function slotOf(served: ServedConfig): Slot {
    const known = slots.get(served.pool);
    if (known?.key === served.key) return known;
    const slot: Slot = { key: served.key, versions: new Map() };
    slots.set(served.pool, slot);
    for (const version of known?.versions.keys() ?? []) void start(slot, served, version);
    return slot;
  }

  function start(slot: Slot, served: ServedConfig, version: OutputVersion): Promise<Prepared> {
    const { machineConfig, facts } = served;
    const begun = performance.now();
    const under = preparer.prepare({ machineConfig, facts, version, maxBytes });
    const entry: { ready?: Prepared; readonly under: Promise<Prepared> } = { under };
    slot.versions.set(version, entry);
    under.then(
      (result) => {
        entry.ready = result;
        prepared?.((performance.now() - begun) / 1000);
      },
      // The waiting request reports the failure.
      () => slot.versions.delete(version),
    );
    return under;
  }

  return {
    get(served, version) {
      const slot = slotOf(served);
      const known = slot.versions.get(version);
      return known?.ready ?? known?.under ?? start(slot, served, version);
    },
    warm(served) {
      const slot = slotOf(served);
      if (slot.versions.size === 0) void start(slot, served, USUAL);
    },
    forget(pool) {
      slots.delete(pool);
    },
    get size() {
      let size = 0;
      for (const { versions } of slots.values()) {
        for (const { ready } of versions.values()) size += ready === undefined ? 0 : sizeOf(ready);
      }
      return size;
    },
  };
}

function sizeOf(prepared: Prepared): number {
  if (prepared.state !== 'ready') return 0;
  const { zstd, gzip, identity } = prepared.bytes;
  return zstd.length + gzip.length + identity.length;
}
