/** Whether the units that an update brought came up with the boot that brought them, and stay up. */

import { fail } from '../../core/errors';
import type { IgnitionUnit, RenderedSpec } from '../../core/machine-config/types';
import type { HostPorts, OpenJournal, UnitState } from '../ports';
import { readCurrentConfig } from '../records/configs';
import { isBetweenStarts, LOOK_EVERY_MS, pause } from './service-health';

/** So long a unit that is still starting, or has not begun, is waited for; then it is no failure. */
const STARTS_WITHIN_MS = 10_000;
/** A service that is up for so long does not crash on its new files; most of them are, when it is asked. */
const STEADY_MS = 5_000;
/** The same of one that systemd had to start again. */
const STEADY_AGAIN_MS = 15_000;
/** So long a service may fail and be started again: what it needs may come up later than itself. */
const RECOVERS_WITHIN_MS = 60_000;
/** Started again so often before our eyes, it crashes whenever it starts. */
const STARTS_OF_A_LOOP = 2;

type Ports = Pick<HostPorts, 'systemd' | 'context' | 'pause' | 'files'>;

/**
 * Looks at every unit that differs from the config before, services, sockets, timers and mounts alike. One
 * that the config does not enable may be down, not failed. What failed already before the update is none
 * of its business.
 *
 * @throws `VerifyFailed` naming the unit and what systemd says about it
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
      // Without a systemd that runs there is nothing to say.
      if (state !== undefined && !unit.isSettled(state, waited)) unsettled.push(unit);
    }
    open = unsettled;
    if (open.length === 0) return;
    const { signal, progress } = ports.context();
    progress(`watching ${open.map(({ name }) => name).join(', ')}`);
    await pause(ports, LOOK_EVERY_MS, signal);
  }
}

/** Without those that are to be down, and templates, of which only instances run. */
function broughtUnits(before: RenderedSpec | undefined, to: RenderedSpec): readonly IgnitionUnit[] {
  const old = new Map(unitsOf(before).map((unit) => [unit.name, JSON.stringify(unit)]));
  return unitsOf(to)
    .filter((unit) => unit.mask !== true && unit.enabled !== false && !/@\.\w+$/.test(unit.name))
    .filter((unit) => old.get(unit.name) !== JSON.stringify(unit));
}

function unitsOf(spec: RenderedSpec | undefined): readonly IgnitionUnit[] {
  return spec?.config.systemd?.units ?? [];
}

/** What was seen of one unit. */
class UnitWatch {
  readonly name: string;
  readonly #isEnabled: boolean;
  #restarts: number | undefined;
  /** How it was when it had failed last. */
  #trouble: UnitState | undefined;

  constructor({ name, enabled }: IgnitionUnit) {
    this.name = name;
    this.#isEnabled = enabled === true;
  }

  /**
   * Whether there is nothing more to wait for.
   *
   * @param waited - milliseconds since the first look
   * @throws `VerifyFailed`
   */
  isSettled(state: UnitState, waited: number): boolean {
    this.#restarts ??= state.restarts;
    const hasFailed = state.active === 'failed' && !isBetweenStarts(state);
    if (hasFailed || (this.#isEnabled && isUnreadable(state))) throw notUp(this.name, state, state);
    if (hasJustFailed(state)) this.#trouble = state;
    else if (tellsOfFailure(state)) this.#trouble ??= state;
    if (isSteady(this.name, state)) return true;
    const isDown = state.active === 'inactive' && !isBetweenStarts(state);
    const hasRun = this.#trouble !== undefined || (state.type === 'oneshot' && state.hasRun);
    // It did its work, be it in the end.
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

/** Up, and for long enough; only services die by themselves. */
function isSteady(name: string, { active, sub, restarts, upMs }: UnitState): boolean {
  if (active !== 'active') return false;
  if (!name.endsWith('.service') || sub === 'exited') return true;
  return upMs >= (restarts === 0 ? STEADY_MS : STEADY_AGAIN_MS);
}

/** Nothing that could be started; MCO's `systemctl enable` fails on such units. */
function isUnreadable({ load }: UnitState): boolean {
  return load === 'bad-setting' || load === 'error' || load === 'not-found';
}

function hasJustFailed(state: UnitState): boolean {
  return isBetweenStarts(state) && state.result !== 'success';
}

/** Started again by systemd, which does that only after a failure; `always` does it also after none. */
function tellsOfFailure({ restarts, restartPolicy }: UnitState): boolean {
  return restarts > 0 && restartPolicy !== 'always' && restartPolicy !== 'on-success';
}

/** @param trouble - how it was when it had failed */
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
