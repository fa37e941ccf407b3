/** The host worker for machines that boot from a stock image: archives and digests of tools/setup/host-archive.mjs. */

import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

type Opened =
  /** Also for a kind of machine that this build has nothing for. */
  | { readonly state: 'absent' }
  /** As many as may are being sent. */
  | { readonly state: 'busy' }
  | {
      readonly state: 'open';
      readonly size: number;
      readonly read: () => Readable;
      readonly close: () => void;
    };

export interface HostWorkerFiles {
  /** @param name - `<machine>.tar.gz` or `<machine>.sha256`; the machine as in `uname -m` */
  open(name: string): Promise<Opened>;
}

const NAME = /^[a-z0-9_]{1,20}\.(tar\.gz|sha256)$/;
/** Each sends 50 MB, to whoever reaches the port. */
const AT_ONCE = 64;

export function hostWorkerFiles(directory: string, atOnce = AT_ONCE): HostWorkerFiles {
  let count = 0;
  return {
    async open(name) {
      if (!NAME.test(name)) return { state: 'absent' };
      if (count >= atOnce) return { state: 'busy' };
      count += 1;
      const file = await openFile(join(directory, name)).catch((error: unknown) => {
        count -= 1;
        throw error;
      });
      if (file === undefined) {
        count -= 1;
        return { state: 'absent' };
      }
      const { handle, size } = file;
      return {
        state: 'open',
        size,
        read: () => handle.createReadStream({ autoClose: false }),
        close: () => {
          count -= 1;
          void handle.close();
        },
      };
    },
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
