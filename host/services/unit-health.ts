/** Whether the units of an update stay up after the boot. */

import { fail } from '../../core/errors';
import type { IgnitionUnit, RenderedSpec } from '../../core/machine-config/types';
import type { HostPorts, OpenJournal, UnitState } from '../ports';
import { readCurrentConfig } from '../records/configs';
import { isBetweenStarts, LOOK_EVERY_MS, pause } from './service-health';

/** A unit that has not begun to start by then is no failure. */
const STARTS_WITHIN_MS = 10_000;
/** Then a service does not crash on its new files. */
const STEADY_MS = 5_000;
/** The same for a restarted service. */
const STEADY_AGAIN_MS = 15_000;
/** A service may restart for this long: its dependencies may come up later. */
const RECOVERS_WITHIN_MS = 60_000;
/** Then the service crashes at each start. */
const STARTS_OF_A_LOOP = 2;

type Ports = Pick<HostPorts, 'systemd' | 'context' | 'pause' | 'files'>;

/**
 * Checks the services, sockets, timers and mounts that the update changed. A unit that the config
 * does not enable may be down, but not failed. Failures from before the update are ignored.
 *
 * @throws `VerifyFailed` naming the unit and its state
 */
export async function proveUnits(
  ports: Ports,
  journal: OpenJournal | undefined,
  to: RenderedSpec,
): Promise<void> {
  if (journal === undefined || !journal.header.plan.reboot) return;
  const before = (await readCurrentConfig(ports.files))?.spec;
  let open = broughtUnits(before, to).map((unit) => new UnitWatch(unit));
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    const unsettled: UnitWatch[] = [];
    for (const unit of open) {
      const state = await ports.systemd.state(unit.name);
      // Undefined: no systemd runs.
      if (state !== undefined && !unit.isSettled(state, waited)) unsettled.push(unit);
    }
    open = unsettled;
    if (open.length === 0) return;
    const { signal, progress } = ports.context();
    progress(`watching ${open.map(({ name }) => name).join(', ')}`);
    await pause(ports, LOOK_EVERY_MS, signal);
  }
}

/** Without units that should be down, and templates. */
function broughtUnits(before: RenderedSpec | undefined, to: RenderedSpec): readonly IgnitionUnit[] {
  const old = new Map(unitsOf(before).map((unit) => [unit.name, JSON.stringify(unit)]));
  return unitsOf(to)
    .filter((unit) => unit.mask !== true && unit.enabled !== false && !/@\.\w+$/.test(unit.name))
    .filter((unit) => old.get(unit.name) !== JSON.stringify(unit));
}

function unitsOf(spec: RenderedSpec | undefined): readonly IgnitionUnit[] {
  return spec?.config.systemd?.units ?? [];
}

class UnitWatch {
  readonly name: string;
  readonly #isEnabled: boolean;
  #restarts: number | undefined;
  /** The state at its last failure. */
  #trouble: UnitState | undefined;

  constructor({ name, enabled }: IgnitionUnit) {
    this.name = name;
    this.#isEnabled = enabled === true;
  }

  /** @param waited - milliseconds since the first check @throws `VerifyFailed` */
  isSettled(state: UnitState, waited: number): boolean {
    this.#restarts ??= state.restarts;
    const hasFailed = state.active === 'failed' && !isBetweenStarts(state);
    if (hasFailed || (this.#isEnabled && isUnreadable(state))) throw notUp(this.name, state, state);
    if (hasJustFailed(state)) this.#trouble = state;
    else if (tellsOfFailure(state)) this.#trouble ??= state;
    if (isSteady(this.name, state)) return true;
    const isDown = state.active === 'inactive' && !isBetweenStarts(state);
    const hasRun = this.#trouble !== undefined || (state.type === 'oneshot' && state.hasRun);
    // It did its work, possibly after failures.
    if (isDown && hasRun && state.result === 'success') return true;
    if (this.#trouble === undefined) {
      return waited >= STARTS_WITHIN_MS || (isDown && !this.#isEnabled);
    }
    const again = state.restarts - this.#restarts;
    if (again >= STARTS_OF_A_LOOP || waited >= RECOVERS_WITHIN_MS) {
      throw notUp(this.name, this.#trouble, state);
    }
    return false;
  }
}

/** Only services end by themselves. */
function isSteady(name: string, { active, sub, restarts, upMs }: UnitState): boolean {
  if (active !== 'active') return false;
  if (!name.endsWith('.service') || sub === 'exited') return true;
  return upMs >= (restarts === 0 ? STEADY_MS : STEADY_AGAIN_MS);
}

/** MCO's `systemctl enable` fails on such units. */
function isUnreadable({ load }: UnitState): boolean {
  return load === 'bad-setting' || load === 'error' || load === 'not-found';
}

function hasJustFailed(state: UnitState): boolean {
  return isBetweenStarts(state) && state.result !== 'success';
}

/** With `always`, systemd restarts also without a failure. */
function tellsOfFailure({ restarts, restartPolicy }: UnitState): boolean {
  return restarts > 0 && restartPolicy !== 'always' && restartPolicy !== 'on-success';
}

function notUp(name: string, trouble: UnitState, { restarts }: UnitState): Error {
  const { active, sub, load, result, exitStatus } = trouble;
  const detail = [
    ...(load === 'not-found' ? ['there is no such unit on this machine'] : []),
    ...(load !== 'not-found' && isUnreadable(trouble) ? [`systemd cannot read it (${load})`] : []),
    `it is ${active} (${sub})`,
    ...(result === '' ? [] : [`result ${result}`]),
    ...(exitStatus === 0 ? [] : [`exit status ${exitStatus}`]),
    ...(restarts === 0 ? [] : [`restarted ${restarts} times`]),
  ].join(', ');
  return fail('VerifyFailed', `${name} does not come up: ${detail}; see journalctl -u ${name}`, {
    unit: name,
  });
}
