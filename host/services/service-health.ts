/** Whether services come up on new files, and stay up. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../core/errors';
import type { HostPorts, UnitState } from '../ports';

/** systemd's own limit for a start is 90 s. */
const ACTIVE_WITHIN_MS = 100_000;
/** Most crashes on a bad file come at once. */
const STAYS_MS = 5_000;
export const LOOK_EVERY_MS = 500;

type Ports = Pick<HostPorts, 'systemd' | 'context' | 'pause'>;

/** With systemd's count of its restarts when it came up. */
export interface WatchedService {
  readonly service: string;
  readonly restarts: number;
}

/**
 * A finished oneshot is up.
 *
 * @returns undefined when there is nothing to watch: no systemd runs, or the service has done its
 *   work
 * @throws `ServiceFailed` naming the service and its state
 */
export async function awaitActive(
  ports: Ports,
  service: string,
  after: 'reload' | 'restart',
): Promise<WatchedService | undefined> {
  const { signal } = ports.context();
  // A reload keeps systemd's count, so only an increase means a crash.
  let first: number | undefined;
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    const state = await ports.systemd.state(service);
    if (state === undefined) return undefined;
    first ??= after === 'restart' ? 0 : state.restarts;
    if (state.restarts > first) throw serviceFailed(service, after, state);
    switch (verdictOf(state)) {
      case 'up':
        return { service, restarts: state.restarts };
      case 'finished':
        return undefined;
      case 'down':
        throw serviceFailed(service, after, state);
      case 'wait':
        if (waited >= ACTIVE_WITHIN_MS) throw serviceFailed(service, after, state);
        await pause(ports, LOOK_EVERY_MS, signal);
    }
  }
}

/** @throws `ServiceFailed` naming the first that does not stay up */
export async function staysUp(ports: Ports, watched: readonly WatchedService[]): Promise<void> {
  if (watched.length === 0) return;
  const { signal, progress } = ports.context();
  const names = watched.map(({ service }) => service).join(', ');
  progress(`watching ${names} for ${STAYS_MS / 1000} s`);
  for (let waited = 0; waited < STAYS_MS; waited += LOOK_EVERY_MS) {
    await pause(ports, LOOK_EVERY_MS, signal);
    for (const { service, restarts } of watched) {
      const state = await ports.systemd.state(service);
      if (state === undefined) continue;
      if (verdictOf(state) !== 'up' || state.restarts > restarts) {
        throw serviceFailed(service, 'watch', state);
      }
    }
  }
}

function verdictOf(state: UnitState): 'up' | 'finished' | 'down' | 'wait' {
  if (isBetweenStarts(state)) return 'down';
  switch (state.active) {
    case 'active':
    case 'reloading':
    case 'refreshing':
      return 'up';
    case 'activating':
    case 'deactivating':
      return 'wait';
    case 'inactive':
      return state.type === 'oneshot' && state.result === 'success' ? 'finished' : 'down';
    default:
      return 'down';
  }
}

/** `auto-restart`, `failed-before-auto-restart`, … */
export function isBetweenStarts({ sub }: UnitState): boolean {
  return sub.includes('auto-restart');
}

/** The cause is in the machine's systemd journal. */
export function serviceFailed(
  service: string,
  after: 'reload' | 'restart' | 'watch',
  state: UnitState,
): Error {
  const when = after === 'watch' ? 'did not stay up' : `did not come back after its ${after}`;
  const detail = [
    `it is ${state.active} (${state.sub})`,
    `result ${state.result}`,
    ...(state.exitStatus === 0 ? [] : [`exit status ${state.exitStatus}`]),
    ...(state.restarts === 0 ? [] : [`restarted ${state.restarts} times`]),
  ].join(', ');
  return fail('ServiceFailed', `${service} ${when}: ${detail}; see journalctl -u ${service}`, {
    service,
    result: state.result,
  });
}

export async function pause(
  { pause: wait }: Pick<HostPorts, 'pause'>,
  ms: number,
  signal: AbortSignal,
): Promise<void> {
  if (wait === undefined) await sleep(ms, undefined, { signal });
  else await wait(ms, signal);
}
