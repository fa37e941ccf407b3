/** pino for every process, and the bridge that brings Temporal's own log lines into it. */

import type { LogMetadata, Logger as TemporalLogger, LogLevel } from '@temporalio/common';
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface LogSettings {
  /** `cluster-worker`, `host-worker`, …: the key `process` of every line. */
  readonly process: string;
  readonly level: (typeof LOG_LEVELS)[number];
  /** Absent = stdout. */
  readonly destination?: DestinationStream;
}

/**
 * Where secrets would be if anybody logged the object that holds them: credentials, and the
 * contents of files and units. Names and digests are what is meant to be logged.
 */
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

/** A JSON logger; one line per event, with a constant message and the variables as keys. */
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

/** Keys of the SDK's metadata that mean the same as ours or nothing to an operator. */
const DROPPED = new Set(['sdkComponent', 'isLocal', 'taskToken', 'namespace']);

/** The logger that `Runtime.install` wants: workflows, activities and the SDK's core. */
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
  // Symbols (the SDK's own marks) and what nobody reads stay out.
  for (const [key, value] of Object.entries(meta)) {
    if (key === 'error') fields['err'] = value;
    else if (key === 'activityType') fields['activity'] = value;
    else if (!DROPPED.has(key)) fields[key] = value;
  }
  return fields;
}
