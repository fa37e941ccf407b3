/** What a process has written to its log, and waiting for what it will write. */

import { existsSync, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** A process has to start first, among many that start. */
const PATIENCE_MS = 120_000;

export interface LogLine {
  readonly level: string | number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log from a place on; lines that are no JSON (a crash's last words) count as messages. */
export function linesOf(file: string, from = 0): readonly LogLine[] {
  if (!existsSync(file)) return [];
  return readFileSync(file)
    .subarray(from)
    .toString()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) =>
      line.startsWith('{') ? (JSON.parse(line) as LogLine) : { level: 0, msg: line },
    );
}

/** The end of a log, to look only at what comes after. */
export function endOf(file: string): number {
  return existsSync(file) ? readFileSync(file).length : 0;
}

/** Resolves when a line that is wanted is in the log; woken by the file system. */
export function untilLogged(
  file: string,
  from: number,
  isWanted: (line: LogLine) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      // The last line may be half written; it will be looked at again.
      const text = existsSync(file) ? readFileSync(file).subarray(from).toString() : '';
      const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      if (whole.some((line) => line.startsWith('{') && isWanted(JSON.parse(line) as LogLine))) {
        finish();
      }
    };
    const finish = (failure?: Error): void => {
      clearTimeout(timer);
      watcher.close();
      if (failure === undefined) resolve();
      else reject(failure);
    };
    const watcher = watch(dirname(file), look);
    const timer = setTimeout(() => {
      const tail = linesOf(file, from).slice(-10);
      finish(new Error(`never logged in ${file}; the last lines: ${JSON.stringify(tail)}`));
    }, PATIENCE_MS);
    look();
  });
}
