/** Whether the units that an update brought came up with the boot that brought them. */

import { setTimeout as sleep } from 'node:timers/promises';
import { fail } from '../../core/errors';
import type { IgnitionUnit, RenderedSpec } from '../../core/machine-config/types';
import type { HostPorts, OpenJournal, UnitState } from './ports';
import { readCurrentConfig } from './records';

/** So long a unit that is still starting, or has not begun, is waited for; then it is no failure. */
const STARTS_WITHIN_MS = 10_000;
const LOOK_EVERY_MS = 500;

type Ports = Pick<HostPorts, 'systemd' | 'context' | 'pause' | 'files'>;

/**
 * Looks at every enabled service that differs from the config before. What failed already before the
 * update is none of its business.
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
  for (const name of broughtServices(before, to)) {
    const state = await settled(ports, name);
    if (state !== undefined && hasFailed(state)) {
      throw fail(
        'VerifyFailed',
        `${name} does not come up: it is ${state.active} (${state.sub}), result ${state.result}; ` +
          `see journalctl -u ${name}`,
        { unit: name },
      );
    }
  }
}

function broughtServices(before: RenderedSpec | undefined, to: RenderedSpec): readonly string[] {
  const old = new Map(unitsOf(before).map((unit) => [unit.name, JSON.stringify(unit)]));
  return unitsOf(to)
    .filter((unit) => unit.name.endsWith('.service') && unit.enabled === true)
    .filter((unit) => old.get(unit.name) !== JSON.stringify(unit))
    .map((unit) => unit.name);
}

function unitsOf(spec: RenderedSpec | undefined): readonly IgnitionUnit[] {
  return spec?.config.systemd?.units ?? [];
}

/** The state once it says something; undefined where no systemd runs. */
async function settled(ports: Ports, name: string): Promise<UnitState | undefined> {
  const { signal } = ports.context();
  for (let waited = 0; ; waited += LOOK_EVERY_MS) {
    const state = await ports.systemd.state(name);
    if (state === undefined || hasFailed(state) || state.active === 'active') return state;
    if (waited >= STARTS_WITHIN_MS) return state;
    if (ports.pause === undefined) await sleep(LOOK_EVERY_MS, undefined, { signal });
    else await ports.pause(LOOK_EVERY_MS, signal);
  }
}

function hasFailed({ active, sub, result }: UnitState): boolean {
  return active === 'failed' || (sub === 'auto-restart' && result !== 'success');
}
