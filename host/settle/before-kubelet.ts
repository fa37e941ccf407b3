import { setTimeout as delay } from 'node:timers/promises';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { settleAtStart, type Settlement } from './settle-at-start';
import { failureName, messageOf } from '../../core/errors';
import { isRunning, readWorkerState } from '../status/worker-state';
import { type Log, telling } from '../log';
import type { MachinePorts } from '../ports';

const run = promisify(execFile);

/** The worker also writes the journal. */
const WORKER_UNIT = 'slipway-host.service';
const RUNNING: ReadonlySet<string> = new Set(['active', 'activating', 'reloading', 'deactivating']);
/** OS programs may not answer so early after the boot. */
const ATTEMPTS = 10;
const PAUSE_MS = 3_000;

interface StartingMachine {
  readonly node: string;
  readonly root: string;
  readonly ports: () => Promise<MachinePorts>;
  /** Resolves when this process ends with the machine. */
  readonly reboot: (reason: string) => Promise<void>;
}

interface SettleOptions {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly systemctl?: string;
  readonly pauseMs?: number;
}

/**
 * Settles what a power cut or a rollback left, with a reboot if one is due. Does nothing beside a
 * worker, which has settled.
 *
 * @returns what was found and done
 * @throws an Error when settling failed; the kubelet should not start then
 */
export async function settleBeforeKubelet(
  machine: StartingMachine,
  options: SettleOptions,
): Promise<Settlement> {
  const { log, systemctl = 'systemctl' } = options;
  const { node, root } = machine;
  if (await isWorkerRunning(systemctl)) {
    const worker = readWorkerState(root);
    if (worker !== undefined && isRunning(worker) && worker.isSettled === true) return {};
    throw new Error(`${WORKER_UNIT} runs and settles by itself; stop it first`);
  }
  const settled = await settlePatiently(machine, options);
  const { what, reboot, foreign } = settled;
  if (what !== undefined) log.warn({ node, what }, 'unfinished update settled');
  if (foreign !== undefined)
    log.error({ node, reason: foreign }, 'a person booted another deployment');
  // systemd ends this program; units that wait for it do not start.
  if (reboot !== undefined) await machine.reboot(reboot);
  return settled;
}

async function settlePatiently(
  machine: StartingMachine,
  { signal, log, pauseMs = PAUSE_MS }: SettleOptions,
): Promise<Settlement> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const ports = { ...(await machine.ports()), ...telling(machine.node, log) };
      return await settleAtStart({ ...ports, now: () => new Date() });
    } catch (error) {
      // Waiting fixes neither a damaged journal nor a rollback that does not end.
      const isHopeless = failureName(error) === 'RollbackFailed' || attempt >= ATTEMPTS;
      if (isHopeless || signal.aborted) throw error;
      log.warn({ node: machine.node, reason: messageOf(error) }, 'cannot settle yet');
      await delay(pauseMs, undefined, { signal });
    }
  }
}

/** Also while it starts or stops: it settles before it is ready. */
async function isWorkerRunning(systemctl: string): Promise<boolean> {
  const stateOf = (result: unknown): string =>
    typeof result === 'object' && result !== null && 'stdout' in result
      ? String(result.stdout).trim()
      : '';
  // Fails in all states but one, and on machines without systemd.
  const state = await run(systemctl, ['is-active', WORKER_UNIT]).then(stateOf, stateOf);
  return RUNNING.has(state);
}
