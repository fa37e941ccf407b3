/**
 * Patience with the programs of the operating system, and with the disk below the journal, where giving
 * up would leave a host half done.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type FailureName, failureName, messageOf } from '../core/errors';
import type { HostPorts, OsStatus } from './ports';

const PAUSE_MS = 5_000;
/** Five minutes, of a program that answers at once: a daemon that starts again. */
const ATTEMPTS = 60;

/**
 * Tries until the program succeeds, and says what it waits for; on the way back there is nothing better to do.
 *
 * @param what - continues "cannot …"
 * @param attempts - five seconds apart
 * @throws the last failure when it stays, or the step is called off
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
 * What the operating system says of itself. A daemon that starts again answers a little later.
 *
 * @param attempts - five seconds apart; absent = five minutes of them
 * @throws `OsCommandFailed` when it stays so, or the step is called off
 */
export function lookAtOs(ports: LookingPorts, attempts = ATTEMPTS): Promise<OsStatus> {
  return lookWithin(ports, { attempts });
}

/**
 * The same where an update can still be given up: one that hangs at each look has five minutes in all, and the look
 * that is under way then.
 */
export function lookWithinFiveMinutes(ports: LookingPorts): Promise<OsStatus> {
  const until = performance.now() + ATTEMPTS * PAUSE_MS;
  return lookWithin(ports, { attempts: ATTEMPTS, until });
}

function lookWithin(ports: LookingPorts, limits: Limits): Promise<OsStatus> {
  const look = () => ports.os.status();
  return tryAgainOn(['OsCommandFailed'], ports, 'look at the operating system', look, limits);
}

/**
 * Tries until the disk takes what the host writes down for itself, in the journal first of all, and says
 * what it waits for. All of the work is done again, so it must be safe to repeat.
 *
 * @param what - continues "cannot …"
 * @throws the last failure when it stays, or the step is called off
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
  /** Of `performance.now()`. */
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
