/** A process that dies in the middle of its changes to the disk. */

import { type FileSystem, NODE_FILE_SYSTEM } from '../../../adapters/host';
import { sampleOf } from '../../support/sample';

/** At which of so many changing calls a process dies; `what` names what makes them. */
export type Deaths = (what: string, calls: number) => readonly number[];

export const AT_EACH_CALL: Deaths = (_what, calls) =>
  Array.from({ length: calls }, (_, index) => index + 1);

/** For unit tests: test/integration/host/crash.all.test.ts takes each. */
export const AT_SOME_CALLS: Deaths = (what, calls) =>
  sampleOf(`deaths in ${what}`, AT_EACH_CALL(what, calls), 2, String);

/** The process is dead: this and every later call fails, also calls for cleanup. */
class Crash extends Error {
  override readonly name = 'Crash';
}

/** A file system whose process dies at the n-th changing call. */
export function dyingAt(step: number): { fs: FileSystem; steps: () => number } {
  let steps = 0;
  const count = (): void => {
    steps += 1;
    if (steps >= step) throw new Crash();
  };
  const alive = (): void => {
    if (steps >= step) throw new Crash();
  };
  const changing =
    <Call extends (...args: never[]) => unknown>(call: Call) =>
    (...args: Parameters<Call>): ReturnType<Call> => {
      count();
      return call(...args) as ReturnType<Call>;
    };
  const fs = {
    ...NODE_FILE_SYSTEM,
    lstatSync: ((...args: Parameters<FileSystem['lstatSync']>) => {
      alive();
      return NODE_FILE_SYSTEM.lstatSync(...args);
    }) as FileSystem['lstatSync'],
    mkdir: changing(NODE_FILE_SYSTEM.mkdir as (path: string) => Promise<void>),
    rename: changing(NODE_FILE_SYSTEM.rename),
    rmdir: changing(NODE_FILE_SYSTEM.rmdir),
    symlink: changing(NODE_FILE_SYSTEM.symlink),
    unlink: changing(NODE_FILE_SYSTEM.unlink),
    async open(...args: Parameters<FileSystem['open']>) {
      if (args[1] !== 'r') count();
      const handle = await NODE_FILE_SYSTEM.open(...args);
      const whole = handle.writeFile.bind(handle);
      return Object.assign(handle, {
        // Half of the data is on disk when the process dies during a write.
        async writeFile(data: Buffer) {
          steps += 1;
          if (steps >= step) {
            await whole(data.subarray(0, data.length >> 1));
            throw new Crash();
          }
          await whole(data);
        },
        chmod: changing(handle.chmod.bind(handle)),
        chown: changing(handle.chown.bind(handle)),
        truncate: changing(handle.truncate.bind(handle)),
      });
    },
  } as unknown as FileSystem;
  return { fs, steps: () => steps };
}
