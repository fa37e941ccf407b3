/** The kubelet does not start when settling before it failed; somebody has to start it afterwards. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../core/errors';
import type { Logger } from './logging';

const run = promisify(execFile);

const SETTLE_UNIT = 'slipway-host-settle.service';
const KUBELET_UNIT = 'kubelet.service';
const TIMEOUT_MS = 120_000;

/**
 * For a worker that has settled: starts the program before the kubelet again, if that had failed, and
 * then the kubelet, if it is enabled. The program has the last word on whether it may. Never throws.
 */
export async function startWhatWaited(log: Logger, command = 'systemctl'): Promise<void> {
  const systemctl = (...words: readonly string[]): Promise<unknown> =>
    run(command, [...words], { timeout: TIMEOUT_MS });
  const holds = (...words: readonly string[]): Promise<boolean> =>
    systemctl(...words).then(
      () => true,
      () => false,
    );
  if (!(await holds('is-failed', '--quiet', SETTLE_UNIT))) return;
  try {
    await systemctl('start', SETTLE_UNIT);
    if (!(await holds('is-enabled', '--quiet', KUBELET_UNIT))) return;
    await systemctl('start', '--no-block', KUBELET_UNIT);
    log.warn({ unit: KUBELET_UNIT }, 'settled after all, kubelet started');
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'kubelet waits for a program that fails');
  }
}
