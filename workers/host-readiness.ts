/** Tells systemd when the kubelet may start: after whatever the last process left is settled. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../core/errors';
import { type Host, settleHost } from './host-loop';
import type { Logger } from './logging';

const run = promisify(execFile);

/** systemd waits much longer for the start of a service. */
const TIMEOUT_MS = 10_000;

/**
 * Settles, and says that the service is ready, unless a reboot is due: nothing should start on what is
 * about to go away.
 *
 * @returns why a reboot is due
 */
export async function settleBeforeOthers(
  host: Host,
  log: Logger,
  notify: () => Promise<void>,
): Promise<string | undefined> {
  const reason = await settleHost(host, log);
  if (reason === undefined) await notify();
  return reason;
}

/**
 * Says that this service is ready (`Type=notify`); does nothing outside such a service. A failure is
 * logged: systemd then starts the kubelet when its patience ends.
 */
export async function notifySystemd(
  environment: Readonly<Record<string, string | undefined>>,
  log: Logger,
  command = 'systemd-notify',
): Promise<void> {
  const socket = environment['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') return;
  const env = { PATH: environment['PATH'], NOTIFY_SOCKET: socket };
  try {
    // In the name of this process: its child is gone before systemd asks whose it was.
    const words = ['--ready', `--pid=${process.pid}`, '--status=settled'];
    await run(command, words, { env, timeout: TIMEOUT_MS });
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'systemd cannot be told that the service is ready');
  }
}
