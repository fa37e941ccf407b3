/**
 * The reboot of a machine through systemd. Programs that block shutdowns (inhibitors) are waited for up
 * to a limit and named; delays are systemd's own business, as the kubelet's graceful shutdown is.
 */

import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../core/errors';

const run = promisify(execFile);

/** A program that does not want the machine to go down. */
export interface Inhibitor {
  readonly who: string;
  readonly why: string;
  readonly pid: number;
}

export interface RebootOptions {
  /** How long inhibitors are honoured. */
  readonly inhibitorSeconds: number;
  /** How long the machine may take to end this process after it was told to reboot. */
  readonly shutdownSeconds: number;
  /** Told when somebody else blocks the reboot, and when the limit is over. */
  readonly onBlocked: (blockers: readonly Inhibitor[], isOver: boolean) => void;
  /** Other commands, for tests. */
  readonly systemctl?: string;
  readonly busctl?: string;
  readonly pollMs?: number;
}

const LIST_INHIBITORS = [
  '--json=short',
  'call',
  'org.freedesktop.login1',
  '/org/freedesktop/login1',
  'org.freedesktop.login1.Manager',
  'ListInhibitors',
];
const COMMAND_TIMEOUT_MS = 60_000;

/**
 * Reboots; resolves when the signal aborts, because that is how systemd ends this process.
 *
 * @throws an Error saying what stands in the way when the machine does not go down in time
 */
export async function rebootThroughSystemd(
  reason: string,
  signal: AbortSignal,
  options: RebootOptions,
): Promise<void> {
  await waitForInhibitors(signal, options);
  if (signal.aborted) return;
  const { systemctl = 'systemctl', shutdownSeconds } = options;
  const words = ['reboot', '--check-inhibitors=no', '--no-wall', `--message=slipway: ${reason}`];
  await run(systemctl, words, { timeout: COMMAND_TIMEOUT_MS }).catch((error: unknown) => {
    // systemd may end the command together with everything else.
    if (!signal.aborted) throw new Error(`systemctl reboot: ${messageOf(error)}`, { cause: error });
  });
  await delay(shutdownSeconds * 1000, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) return;
  throw new Error(`the machine did not go down within ${shutdownSeconds} s of systemctl reboot`);
}

async function waitForInhibitors(signal: AbortSignal, options: RebootOptions): Promise<void> {
  const { inhibitorSeconds, busctl = 'busctl', pollMs = 2_000, onBlocked } = options;
  const deadline = performance.now() + inhibitorSeconds * 1000;
  let named = '';
  while (!signal.aborted) {
    const blockers = await listBlockers(busctl);
    if (blockers.length === 0) return;
    const isOver = performance.now() >= deadline;
    const names = JSON.stringify(blockers);
    if (isOver || names !== named) onBlocked(blockers, isOver);
    if (isOver) return;
    named = names;
    await delay(pollMs, undefined, { signal }).catch(() => undefined);
  }
}

/** Who blocks a shutdown; nobody where there is no logind to ask. */
async function listBlockers(busctl: string): Promise<readonly Inhibitor[]> {
  try {
    const { stdout } = await run(busctl, LIST_INHIBITORS, { timeout: COMMAND_TIMEOUT_MS });
    return blockersIn(stdout);
  } catch {
    // No logind, no inhibitors: a minimal system, or one that is going down already.
    return [];
  }
}

/**
 * Reads logind's answer `a(ssssuu)`: what, who, why, mode, user, process.
 *
 * @returns those that block a shutdown; `delay` ones are systemd's business
 */
export function blockersIn(json: string): readonly Inhibitor[] {
  const answer: unknown = JSON.parse(json);
  if (typeof answer !== 'object' || answer === null || !('data' in answer)) return [];
  const { data } = answer;
  const entries: readonly unknown[] = Array.isArray(data) && Array.isArray(data[0]) ? data[0] : [];
  return entries.flatMap((entry) => {
    if (!Array.isArray(entry)) return [];
    const [what, who, why, mode, , pid] = entry as readonly unknown[];
    const isBlocking = mode === 'block' && String(what).split(':').includes('shutdown');
    return isBlocking ? [{ who: String(who), why: String(why), pid: Number(pid) }] : [];
  });
}
