/** Retries where giving up would leave a host between two configs. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type FailureName, failureName, messageOf } from '../core/errors';
import type { HostPorts, OsStatus } from './ports';

const PAUSE_MS = 5_000;
/** Five minutes in all: the restart of a daemon. */
const ATTEMPTS = 60;

/**
 * Reports what it waits for.
 *
 * @param what - continues "cannot …"
 * @param attempts - five seconds apart
 * @throws the last failure after all attempts, or when the step is cancelled
 */
export function patiently<Result>(
  ports: PatientPorts,
  what: string,
  work: () => Promise<Result>,
  attempts = ATTEMPTS,
): Promise<Result> {
  return tryAgainOn(['OsCommandFailed'], ports, what, work, { attempts });
}

/**
 * A daemon that restarts answers a little later.
 *
 * @param attempts - five seconds apart; default: five minutes of them
 * @throws `OsCommandFailed` after all attempts, or when the step is cancelled
 */
export function lookAtOs(ports: LookingPorts, attempts = ATTEMPTS): Promise<OsStatus> {
  return lookWithin(ports, { attempts });
}

/**
 * For while an update can be given up: hanging calls have five minutes in all, and then the last
 * one.
 */
export function lookWithinFiveMinutes(ports: LookingPorts): Promise<OsStatus> {
  const until = performance.now() + ATTEMPTS * PAUSE_MS;
  return lookWithin(ports, { attempts: ATTEMPTS, until });
}

function lookWithin(ports: LookingPorts, limits: Limits): Promise<OsStatus> {
  const look = () => ports.os.status();
  return tryAgainOn(['OsCommandFailed'], ports, 'read the OS status', look, limits);
}

/**
 * Repeats `work` until the disk takes the host's own records. `work` must be safe to repeat.
 *
 * @param what - continues "cannot …"
 * @throws the last failure after all attempts, or when the step is cancelled
 */
export function patientlyWithDisk<Result>(
  ports: PatientPorts,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const limits = { attempts: ATTEMPTS };
  return tryAgainOn(['JournalFailed', 'ApplyFailed'], ports, what, work, limits);
}

type PatientPorts = Pick<HostPorts, 'context' | 'pause' | 'warn'>;
export type LookingPorts = PatientPorts & Pick<HostPorts, 'os'>;

interface Limits {
  readonly attempts: number;
  /** By `performance.now()`. */
  readonly until?: number;
}

async function tryAgainOn<Result>(
  names: readonly FailureName[],
  ports: PatientPorts,
  what: string,
  work: () => Promise<Result>,
  { attempts, until = Infinity }: Limits,
): Promise<Result> {
  const { signal, progress } = ports.context();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const name = failureName(error);
      const isKnown = name !== undefined && names.includes(name);
      const isOver = attempt >= attempts || performance.now() >= until;
      if (!isKnown || signal.aborted || isOver) throw error;
      const sentence = `cannot ${what} yet: ${messageOf(error)}`;
      progress(sentence);
      if (attempt === 1) ports.warn?.(sentence);
    }
    if (ports.pause === undefined) await sleep(PAUSE_MS, undefined, { signal });
    else await ports.pause(PAUSE_MS, signal);
  }
}
