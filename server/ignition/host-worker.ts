/** The host worker for machines that boot from a stock image: archives and digests of tools/setup/host-archive.mjs. */

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { countedAs, plainAddress } from '../join-networks';

type Opened =
  /** Also for a kind of machine that this build has nothing for. */
  | { readonly state: 'absent' }
  /** As many as may are being sent, in all or to this address. */
  | { readonly state: 'busy' }
  | {
      readonly state: 'open';
      readonly size: number;
      readonly read: () => Readable;
      /** May be called again. */
      readonly close: () => void;
    };

export interface HostWorkerFiles {
  /** @param name - `<machine>.tar.gz` or `<machine>.sha256`; the machine as in `uname -m` */
  open(name: string, address: string): Promise<Opened>;
}

interface Limits {
  readonly atOnce: number;
  /** Machines may share one. */
  readonly perAddress: number;
}

const NAME = /^[a-z0-9_]{1,20}\.(tar\.gz|sha256)$/;
/** Each archive has 60 MB to send, to whoever reaches the port. */
const LIMITS: Limits = { atOnce: 64, perAddress: 16 };

export function hostWorkerFiles(directory: string, limits = LIMITS): HostWorkerFiles {
  const places = new Places(limits);
  return {
    async open(name, address) {
      if (!NAME.test(name)) return { state: 'absent' };
      const leave = name.endsWith('.sha256') ? () => undefined : places.take(address);
      if (leave === undefined) return { state: 'busy' };
      const file = await openFile(join(directory, name)).catch((error: unknown) => {
        leave();
        throw error;
      });
      if (file === undefined) {
        leave();
        return { state: 'absent' };
      }
      const { handle, size } = file;
      const close = once(() => {
        leave();
        void handle.close();
      });
      return {
        state: 'open',
        size,
        close,
        read: () => handle.createReadStream({ autoClose: false }),
      };
    },
  };
}

/** Who is being sent an archive. */
class Places {
  #taken = 0;
  readonly #ofAddress = new Map<string, number>();

  constructor(private readonly limits: Limits) {}

  /** @returns gives the place back; undefined = there is none */
  take(address: string): (() => void) | undefined {
    const key = countedAs(plainAddress(address));
    const own = this.#ofAddress.get(key) ?? 0;
    if (this.#taken >= this.limits.atOnce || own >= this.limits.perAddress) return undefined;
    this.#taken += 1;
    this.#ofAddress.set(key, own + 1);
    return () => {
      this.#taken -= 1;
      const left = (this.#ofAddress.get(key) ?? 1) - 1;
      if (left === 0) this.#ofAddress.delete(key);
      else this.#ofAddress.set(key, left);
    };
  }
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

async function openFile(path: string): Promise<{ handle: FileHandle; size: number } | undefined> {
  try {
    const handle = await open(path);
    return { handle, size: (await handle.stat()).size };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
