/**
 * Reboots through systemd. Inhibitors of mode `block` are honoured up to a limit and named; systemd
 * handles those of mode `delay`, like the kubelet's graceful shutdown.
 */

import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { messageOf } from '../../core/errors';

const run = promisify(execFile);

export interface Inhibitor {
  readonly who: string;
  readonly why: string;
  readonly pid: number;
}

interface RebootOptions {
  readonly inhibitorSeconds: number;
  /** From the request to the end of this process. */
  readonly shutdownSeconds: number;
  /** Also called when the limit is over. */
  readonly onBlocked: (blockers: readonly Inhibitor[], isOver: boolean) => void;
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
 * Resolves when the signal aborts, as systemd ends this process.
 *
 * @throws an Error with the cause when the machine does not go down in time
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
    // systemd may end the command, too.
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

async function listBlockers(busctl: string): Promise<readonly Inhibitor[]> {
  try {
    const { stdout } = await run(busctl, LIST_INHIBITORS, { timeout: COMMAND_TIMEOUT_MS });
    return blockersIn(stdout);
  } catch {
    // A minimal system, or one that is going down.
    return [];
  }
}

/**
 * From logind's answer `a(ssssuu)`: what, who, why, mode, user, process.
 *
 * @returns the inhibitors of mode `block`
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
