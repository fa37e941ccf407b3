/**
 * Commit-confirm: a machine that has rebooted into an update and reaches nobody goes back by itself,
 * because the update may be what cut it off.
 */

import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import { awaitsConfirmation, dropFallback, goBackAlone, type HostPorts } from '../activities/host';
import { readBootId } from '../adapters/host/os/boot-id';
import { failureName, messageOf } from '../core/errors';
import { telling } from './host-log';
import type { Host } from './host-loop';
import { Silence } from './host-silence';
import type { Logger } from './logging';

/** A process that starts late, or starts again, gets this long to reach somebody all the same. */
export const LEAST_SECONDS = 30;

/** What is left of the time that a machine has to reach Temporal after it has booted an update. */
export interface Confirmation {
  /** Fires when the time is over; absent = there was nothing to confirm when this process started. */
  readonly deadline?: AbortSignal;
  /** Whether the time runs. */
  readonly isAwaited: () => boolean;
  /** Temporal answers: the time begins anew, as the update may still cut the machine off. */
  readonly contact: () => void;
  /** An order was carried out and answered, so that somebody sees to the update: the time does not run any more. */
  readonly carriedOut: () => void;
  /** To be called whenever an order has ended: after a proof the time runs again, until the commit. */
  readonly look: () => Promise<void>;
}

/**
 * Looks whether this boot is to be confirmed. The time counts from the boot, not from the start of
 * this process, so that one that crashes again and again does not wait for ever; but from the start where somebody was
 * in reach in this boot, and has verified it. The journal and the
 * kernel's boot ID are enough for it: an update may also have broken the program that manages the
 * operating system.
 *
 * @param seconds - unless the order of the reboot named another number
 */
export async function confirmation(
  host: Host,
  seconds: number,
  log: Logger,
  secondsUp: () => number = secondsSinceBoot,
  kernelBootId: () => Promise<string> = readBootId,
): Promise<Confirmation> {
  const find = () => lookAtBest(host, log, kernelBootId);
  const awaited = await find();
  if (awaited === undefined) return NOTHING;
  const limit = awaited.reconnectSeconds ?? seconds;
  const counted = awaited.isVerified === true ? 0 : secondsUp();
  const left = Math.max(LEAST_SECONDS, limit - counted);
  log.info({ node: host.node, seconds: Math.round(left) }, 'Temporal must be reached in time');
  const deadline = createDeadline();
  deadline.begin(left);
  let { commitBy } = awaited;
  const callOffShell = callingOffShell(host, log);
  return {
    deadline: deadline.signal,
    isAwaited: deadline.isRunning,
    contact: () => {
      if (isOver(commitBy)) deadline.end();
      if (deadline.isRunning()) deadline.begin(limit);
      callOffShell();
    },
    carriedOut: () => deadline.end(),
    look: async () => {
      const found = await host.exclusive(find);
      commitBy = found?.commitBy;
      if (found === undefined) deadline.end();
      else if (found.isVerified === true && !deadline.isRunning()) deadline.begin(limit);
    },
  };
}

const NOTHING: Confirmation = {
  isAwaited: () => false,
  contact: () => undefined,
  carriedOut: () => undefined,
  look: async () => undefined,
};

/** Whether the time in which the commit was to follow is over; absent = there is none. */
export function isOver(commitBy: Date | undefined): boolean {
  return commitBy !== undefined && commitBy.getTime() <= Date.now();
}

/** A damaged journal: going back by itself is what the machine could not do anyway. */
async function lookAtBest(
  host: Host,
  log: Logger,
  kernelBootId: () => Promise<string>,
): ReturnType<typeof lookAt> {
  try {
    return await lookAt(host, log, kernelBootId);
  } catch (error) {
    log.error({ node: host.node, reason: messageOf(error) }, 'no way back without orders');
    return undefined;
  }
}

/** From its first answer on, this process takes the machine back if anybody has to, and no shell. */
function callingOffShell({ node, ports }: Host, log: Logger): () => void {
  let isCalledOff = false;
  return () => {
    if (isCalledOff) return;
    isCalledOff = true;
    dropFallback(ports.files).catch((error: unknown) => {
      isCalledOff = false;
      log.error({ node, reason: messageOf(error) }, 'slipway-host-fallback cannot be called off');
    });
  };
}

/** What has to be confirmed; with the kernel's word for the boot when the driver has none. */
async function lookAt(
  { node, ports }: Host,
  log: Logger,
  kernelBootId: () => Promise<string>,
): Promise<Awaited<ReturnType<typeof awaitsConfirmation>>> {
  try {
    return await awaitsConfirmation(ports);
  } catch (error) {
    if (failureName(error) === 'RollbackFailed') throw error;
    log.warn({ node, reason: messageOf(error) }, 'operating system does not tell how it is');
    const bootId = await kernelBootId();
    const booted = { id: 'unknown', kernelArguments: [], extensions: [], kernelType: 'default' };
    const status: HostPorts['os']['status'] = async () => ({ bootId, booted });
    return awaitsConfirmation({ node, journal: ports.journal, os: { ...ports.os, status } });
  }
}

/** A deadline that may be put off, and given up until it begins anew. */
function createDeadline() {
  const controller = new AbortController();
  const silence = new Silence(() => controller.abort());
  let isRunning = false;
  return {
    signal: controller.signal,
    isRunning: () => isRunning,
    begin(seconds: number): void {
      isRunning = true;
      silence.begin(seconds);
    },
    end(): void {
      isRunning = false;
      silence.end();
    },
  };
}

/** In `/proc/<pid>/stat` on every architecture that Linux runs on here. */
const TICKS_PER_SECOND = 100;
/** Field 22, counted behind the name in parentheses, which may hold blanks. */
const START_TIME = 19;

/** Since the first process of this system began: in a container the kernel is older than the boot. */
export function secondsSinceBoot(procDirectory = '/proc'): number {
  try {
    const stat = readFileSync(`${procDirectory}/1/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const started = Number(fields[START_TIME]) / TICKS_PER_SECOND;
    return Number.isFinite(started) ? uptime() - started : uptime();
  } catch {
    // Hidden from this process: the time since the kernel began is the longest that it can be.
    return uptime();
  }
}

/**
 * Takes the update back and boots what worked before, unless an order that was still at work has
 * committed it meanwhile: then the machine stays as it is.
 *
 * @throws `RollbackFailed` naming the path
 */
export async function goBackByItself(host: Host, signal: AbortSignal, log: Logger): Promise<void> {
  const { node } = host;
  log.warn({ node }, 'Temporal out of reach after the update, going back');
  let reason = 'the update is taken back';
  const ports = portsAlone(host, { signal, log }, (why) => {
    reason = why;
  });
  const because = 'Temporal was out of reach after the reboot, so the machine went back';
  const isBack = await host.exclusive(() => goBackAlone(ports, because));
  if (isBack) await host.reboot(reason, signal);
  else log.info({ node }, 'the update was decided meanwhile, it stays');
}

/** What a way back needs that nobody has ordered. */
export function portsAlone(
  host: Host,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
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
