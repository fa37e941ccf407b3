/**
 * The program before the kubelet: it settles what a power cut or a rollback left, and ends. It
 * needs neither Temporal nor a server.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { settleAtStart, type Settlement } from './settle-at-start';
import { failureName, messageOf } from '../../core/errors';
import { journalLogger } from '../../workers/host/journal-logger';
import { createMachinePorts } from '../../workers/host/machine-ports';
import type { MachineSettings } from '../../workers/host/machine-settings';
import { rebootMachine } from '../../workers/host/reboot';
import { type HostWorkerOptions, readMachineSettings } from '../../workers/host/settings';
import { isRunning, readHostState } from '../report/worker-state';
import { telling } from '../../workers/host/order-log';
import type { Logger } from '../../process/logging';

const run = promisify(execFile);

export { MACHINE_FLAGS } from '../../workers/host/flags';

/** The worker also writes the journal: never both at the same time. */
const WORKER_UNIT = 'slipway-host.service';
const RUNNING: ReadonlySet<string> = new Set(['active', 'activating', 'reloading', 'deactivating']);
/** OS programs may not answer yet, so early after the boot. */
const ATTEMPTS = 10;
const PAUSE_MS = 3_000;

export interface SettleOptions {
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly systemctl?: string;
  readonly pauseMs?: number;
  /** Default: through systemd. */
  readonly reboot?: typeof rebootMachine;
}

/**
 * The process `slipway host-settle`.
 *
 * @param flags - by setting name (`HOST_WORKER_FLAGS`); they precede the environment
 * @throws an Error named SettingsError that lists every wrong setting
 */
export async function runHostSettle(
  flags: HostWorkerOptions,
  signal: AbortSignal,
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<void> {
  const settings = readMachineSettings(flags, environment);
  const log = journalLogger('host-settle', settings.logLevel, environment);
  const settled = await settleMachine(settings, { signal, log });
  if (Object.keys(settled).length === 0) log.info({ node: settings.node }, 'nothing to settle');
}

/**
 * Settles, with a reboot if one is due. Does nothing beside a worker, which has settled.
 *
 * @returns what was found and done
 * @throws an Error when settling failed; the kubelet should not start then
 */
export async function settleMachine(
  settings: MachineSettings,
  options: SettleOptions,
): Promise<Settlement> {
  const { signal, log, systemctl = 'systemctl', reboot: boot = rebootMachine } = options;
  const { node } = settings;
  if (await isWorkerRunning(systemctl)) {
    const worker = readHostState(settings.root);
    if (worker !== undefined && isRunning(worker) && worker.isSettled === true) return {};
    throw new Error(`${WORKER_UNIT} runs and settles by itself; stop it first`);
  }
  const settled = await settlePatiently(settings, options);
  const { what, reboot, foreign } = settled;
  if (what !== undefined) log.warn({ node, what }, 'unfinished update settled');
  if (foreign !== undefined) log.error({ node, reason: foreign }, 'not the deployment it was');
  // systemd ends this program; units that wait for it do not start.
  if (reboot !== undefined) await boot(reboot, settings, { signal, log });
  return settled;
}

async function settlePatiently(
  settings: MachineSettings,
  { signal, log, pauseMs = PAUSE_MS }: SettleOptions,
): Promise<Settlement> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { ports } = await createMachinePorts(settings);
      return await settleAtStart({
        ...ports,
        ...telling(settings.node, log),
        now: () => new Date(),
      });
    } catch (error) {
      // A damaged journal, or a rollback that does not end: waiting fixes neither.
      const isHopeless = failureName(error) === 'RollbackFailed' || attempt >= ATTEMPTS;
      if (isHopeless || signal.aborted) throw error;
      log.warn({ node: settings.node, reason: messageOf(error) }, 'cannot settle yet');
      await delay(pauseMs, undefined, { signal });
    }
  }
}

/** Also true while it starts or stops: it settles before it is ready. */
async function isWorkerRunning(systemctl: string): Promise<boolean> {
  const stateOf = (result: unknown): string =>
    typeof result === 'object' && result !== null && 'stdout' in result
      ? String(result.stdout).trim()
      : '';
  // The command fails in all states but one, and on machines without systemd.
  const state = await run(systemctl, ['is-active', WORKER_UNIT]).then(stateOf, stateOf);
  return RUNNING.has(state);
}
