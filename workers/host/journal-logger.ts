import type { DestinationStream } from 'pino';
import { createLogger, type Logger, type LogSettings } from '../../process/logging';

/** Numbers of `syslog(3)`. */
const PRIORITIES: Readonly<Record<string, number>> = {
  trace: 7,
  debug: 7,
  info: 6,
  warn: 4,
  error: 3,
  fatal: 2,
};

/**
 * Undefined = standard output. For the journal, each line begins with its priority as `<4>`, which
 * the journal removes.
 */
export function journalDestination(
  environment: Readonly<Record<string, string | undefined>>,
  out: { write(text: string): unknown } = process.stdout,
): DestinationStream | undefined {
  const stream = environment['JOURNAL_STREAM'];
  if (stream === undefined || stream === '') return undefined;
  return {
    write: (line: string) => {
      const level = /^\{"level":"(\w+)"/.exec(line)?.[1] ?? 'info';
      out.write(`<${PRIORITIES[level] ?? 6}>${line}`);
    },
  };
}

export function journalLogger(
  process: string,
  level: LogSettings['level'],
  environment: Readonly<Record<string, string | undefined>>,
): Logger {
  const destination = journalDestination(environment);
  return createLogger({ process, level, ...(destination === undefined ? {} : { destination }) });
}
