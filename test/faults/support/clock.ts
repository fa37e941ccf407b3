/** libfaketime changes only the time of day of a process, not monotonic time. */

import { globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Clock {
  /** For a process that follows this clock. */
  readonly environment: Readonly<Record<string, string>>;
  /** Seconds ahead of the true time; negative = behind. */
  step(seconds: number): void;
  remove(): void;
}

/** @throws Error without Debian's package faketime */
export function createClock(): Clock {
  const [library] = globSync('/usr/lib/*/faketime/libfaketime.so.1');
  if (library === undefined) {
    throw new Error('clocks are changed with libfaketime: install the package faketime');
  }
  const directory = mkdtempSync(join(tmpdir(), 'slipway-clock-'));
  const file = join(directory, 'offset');
  const step = (seconds: number): void => {
    // Atomic: readers see the old or the new offset.
    writeFileSync(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}s\n`);
    renameSync(`${file}.new`, file);
  };
  step(0);
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
    step,
    remove: () => rmSync(directory, { recursive: true }),
  };
}
