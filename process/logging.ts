import type { LogMetadata, Logger as TemporalLogger, LogLevel } from '@temporalio/common';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogSettings {
  /** `cluster-worker`, `host-worker`, … */
  readonly process: string;
  readonly level: (typeof LOG_LEVELS)[number];
  readonly destination?: DestinationStream;
}

/** Fields that may hold secrets: credentials, contents of files and units. */
const REDACTED = [
  'kubeconfig',
  'token',
  'headers.authorization',
  '*.headers.authorization',
  'contents',
  '*.contents',
  '*.contents.source',
  'source',
  'passwordHash',
  '*.passwordHash',
  'spec.config',
  '*.spec.config',
];

/** One JSON line per event, with a constant message and the variables as keys. */
export function createLogger(settings: LogSettings): Logger {
  const options = {
    level: settings.level,
    base: { process: settings.process, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED, censor: '(redacted)' },
  };
  return settings.destination === undefined ? pino(options) : pino(options, settings.destination);
}

const LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, keyof Logger>;

/** Keys of the SDK that repeat ours or help no operator. */
const DROPPED = new Set(['sdkComponent', 'isLocal', 'taskToken', 'namespace']);

/** The logger for `Runtime.install`: workflows, activities and the SDK's core. */
export function temporalLogger(log: Logger): TemporalLogger {
  const write = (level: LogLevel, message: string, meta: LogMetadata = {}): void => {
    log[LEVELS[level]](fieldsOf(meta), message);
  };
  return {
    log: write,
    trace: (message, meta) => {
      write('TRACE', message, meta);
    },
    debug: (message, meta) => {
      write('DEBUG', message, meta);
    },
    info: (message, meta) => {
      write('INFO', message, meta);
    },
    warn: (message, meta) => {
      write('WARN', message, meta);
    },
    error: (message, meta) => {
      write('ERROR', message, meta);
    },
  };
}

function fieldsOf(meta: LogMetadata): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  // Without symbols, which are the SDK's own.
  for (const [key, value] of Object.entries(meta)) {
    if (key === 'error') fields['err'] = value;
    else if (key === 'activityType') fields['activity'] = value;
    else if (!DROPPED.has(key)) fields[key] = value;
  }
  return fields;
}
