/**
 * Commit-confirm: a machine that booted an update and reaches nobody rolls back, because the update
 * may have cut it off.
 */

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { unconfirmedAfterReboot, goBackAlone, type UnconfirmedBoot } from './unconfirmed';
import type { HostPorts } from '../ports';
import { dropFallback } from '../update/fallback';
import { readBootId } from '../../adapters/host/os/boot-id';
import { failureName, messageOf } from '../../core/errors';
import { TemporalAnswers } from './temporal-answers';
import type { Host } from '../host';
import { SilenceTimer } from './silence-timer';
import { type Log, telling } from '../log';

/** For a process that starts late or again. */
export const LEAST_SECONDS = 30;

const OUT_OF_REACH = 'Temporal was out of reach after the reboot';

/** The time that a machine has to reach Temporal after it has booted an update. */
export interface ConfirmAfterReboot {
  readonly deadline: AbortSignal;
  readonly isAwaited: () => boolean;
  /** Called when the time starts to run. @returns a function that stops this */
  readonly onAwaited: (listener: () => void) => () => void;
  /** Temporal answers: the time starts anew, because the update may still cut the machine off. */
  readonly contact: () => void;
  /** An order was carried out and answered: the update workflow is in charge. */
  readonly carriedOut: () => void;
  /**
   * Call after each order: once one was carried out, the time runs only between verification and
   * commit.
   */
  readonly look: () => Promise<void>;
  /** The first half of a sentence. */
  readonly why: () => string;
}

/**
 * Judged by the journal and the kernel's boot ID, because the update may have broken the OS
 * program. The time counts from the boot, so that a crashing process does not wait for ever; after
 * a verification in this boot, from the start of the process.
 *
 * @param seconds - the default for orders without a number
 */
export async function confirmAfterReboot(
  host: Host,
  seconds: number,
  log: Log,
  secondsUp: () => number = secondsSinceBoot,
  kernelBootId: () => Promise<string> = readBootId,
): Promise<ConfirmAfterReboot> {
  const find = () => lookAtBest(host, log, kernelBootId);
  const deadline = createDeadline();
  const found = await find();
  const answers = new TemporalAnswers(host, log);
  const known = { limit: seconds, isHeard: false };
  const note = (update: UnconfirmedBoot): void => {
    known.limit = update.reconnectSeconds ?? seconds;
    answers.waitFor(update);
  };
  if (isFound(found)) {
    note(found);
    const counted = found.isVerified === true ? 0 : secondsUp();
    const left = Math.max(LEAST_SECONDS, known.limit - counted);
    log.info({ node: host.node, seconds: Math.round(left) }, 'Temporal must be reached in time');
    deadline.begin(left);
  }
  const callOffShell = isFound(found) ? callingOffShell(host, log) : () => undefined;
  return {
    deadline: deadline.signal,
    isAwaited: deadline.isRunning,
    onAwaited: deadline.onRunning,
    contact: () => {
      const answer = answers.came();
      if (answer === 'nothing') return;
      if (answer === 'decides') deadline.end();
      if (deadline.isRunning()) deadline.begin(known.limit);
      callOffShell();
    },
    carriedOut: () => {
      known.isHeard = true;
      if (deadline.isRunning()) deadline.begin(known.limit);
    },
    look: async () => {
      const now = await host.exclusive(find);
      if (now === 'unknown') return;
      if (isFound(now)) note(now);
      else answers.waitFor(undefined);
      const { isDecided, isForCommit } = answers;
      const runs = isFound(now) && !isDecided && (isForCommit || !known.isHeard);
      if (!runs) deadline.end();
      else if (!deadline.isRunning()) deadline.begin(known.limit);
    },
    why: () => answers.because(OUT_OF_REACH),
  };
}

/** `unknown` = unreadable at present. */
type Found = UnconfirmedBoot | 'unknown' | undefined;

function isFound(found: Found): found is UnconfirmedBoot {
  return typeof found === 'object';
}

async function lookAtBest(
  host: Host,
  log: Log,
  kernelBootId: () => Promise<string>,
): Promise<Found> {
  try {
    return await lookAt(host, log, kernelBootId);
  } catch (error) {
    log.error({ node: host.node, reason: messageOf(error) }, 'cannot roll back without an order');
    // A damaged journal allows no rollback anyway.
    return failureName(error) === 'RollbackFailed' ? undefined : 'unknown';
  }
}

/** With its first answer, this process replaces the fallback shell script. */
function callingOffShell({ node, ports }: Host, log: Log): () => void {
  let isCalledOff = false;
  return () => {
    if (isCalledOff) return;
    isCalledOff = true;
    dropFallback(ports.files).catch((error: unknown) => {
      isCalledOff = false;
      log.error({ node, reason: messageOf(error) }, 'the fallback of this boot cannot be removed');
    });
  };
}

/** The boot ID comes from the kernel when the driver has none. */
async function lookAt(
  { node, ports }: Host,
  log: Log,
  kernelBootId: () => Promise<string>,
): Promise<Awaited<ReturnType<typeof unconfirmedAfterReboot>>> {
  try {
    return await unconfirmedAfterReboot(ports);
  } catch (error) {
    if (failureName(error) === 'RollbackFailed') throw error;
    log.warn({ node, reason: messageOf(error) }, 'OS status is not available');
    const bootId = await kernelBootId();
    const booted = { id: 'unknown', kernelArguments: [], extensions: [], kernelType: 'default' };
    const status: HostPorts['os']['status'] = async () => ({ bootId, booted });
    return unconfirmedAfterReboot({ ...ports, os: { ...ports.os, status } });
  }
}

function createDeadline() {
  const controller = new AbortController();
  const silence = new SilenceTimer(() => controller.abort());
  const listeners = new Set<() => void>();
  let isRunning = false;
  return {
    signal: controller.signal,
    isRunning: () => isRunning,
    onRunning: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    begin(seconds: number): void {
      const isNew = !isRunning;
      isRunning = true;
      silence.begin(seconds);
      if (isNew) for (const listener of listeners) listener();
    },
    end(): void {
      isRunning = false;
      silence.end();
    },
  };
}

const TICKS_PER_SECOND = 100;
/** Field 22, counted behind the name in parentheses. */
const START_TIME = 19;

/** Since the start of PID 1: in a container the kernel is older than the boot. */
export function secondsSinceBoot(procDirectory = '/proc'): number {
  try {
    const stat = readFileSync(`${procDirectory}/1/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const started = Number(fields[START_TIME]) / TICKS_PER_SECOND;
    return Number.isFinite(started) ? uptime() - started : uptime();
  } catch {
    // PID 1 is hidden: the uptime of the kernel is the upper limit.
    return uptime();
  }
}

/**
 * Does nothing when an order has committed the update meanwhile.
 *
 * @throws `RollbackFailed` naming the path
 */
export async function goBackAndReboot(
  host: Host,
  signal: AbortSignal,
  log: Log,
  why = OUT_OF_REACH,
): Promise<void> {
  const { node } = host;
  log.warn({ node, reason: why }, 'rolling back without an order after the update');
  let reason = 'the update is rolled back';
  const ports = portsAlone(host, { signal, log }, (asked) => {
    reason = asked;
  });
  const because = `${why}, so the machine rolled back`;
  const isBack = await host.exclusive(() => goBackAlone(ports, because));
  if (isBack) await host.reboot(reason, signal);
  else log.info({ node }, 'the update was decided meanwhile, it stays');
}

export function portsAlone(
  host: Host,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Log },
  request: (reason: string) => void,
): HostPorts {
  return {
    ...host.ports,
    ...telling(host.node, log),
    now: () => new Date(),
    context: () => ({ signal, progress: () => undefined }),
    reboot: { request },
  };
}
