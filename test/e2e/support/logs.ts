/** Reads the log of a process, and waits for later lines. */

import { existsSync, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** The process has to start first, among many. */
const PATIENCE_MS = 120_000;

export interface LogLine {
  readonly level: string | number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** The log from a place on; lines that are not JSON (such as the output of a crash) count as messages. */
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

export function endOf(file: string): number {
  return existsSync(file) ? readFileSync(file).length : 0;
}

/** Resolves when a wanted line is in the log. */
export function untilLogged(
  file: string,
  from: number,
  isWanted: (line: LogLine) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      // The last line may be half written; the next check reads it again.
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
