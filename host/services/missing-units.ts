import { filesAfterBoot, hasUnit, isGenerated, type SeePath } from '../../adapters/host';
import { fail } from '../../core/errors';
import { unitsToFind } from '../../core/machine-config/units-to-find';
import { heldPaths, hostPaths } from '../paths/appended';
import { pathChanges } from '../paths/path-changes';
import type { HostPorts, PathChange } from '../ports';
import type { HostConfig } from '../records/configs';

type Ports = Pick<HostPorts, 'files' | 'users' | 'node'>;

/**
 * Looks for every newly enabled unit among the files after the update, in the image that boots
 * next. Images without a tree on disk (composefs, simulated) cannot be checked.
 *
 * @param from - the config that the host is on; absent: none
 * @param staged - deployment that boots next, as drivers name it; absent: the running one
 * @throws `ApplyFailed` naming the units
 * @see MCO pkg/daemon/update.go, writeUnits (7ff337a4), where `systemctl enable` fails
 */
export async function refuseMissingUnits(
  ports: Ports,
  from: HostConfig | undefined,
  to: HostConfig,
  staged?: string,
): Promise<void> {
  const { files, node } = ports;
  const units = unitsToFind(from?.spec.config, to.spec.config);
  if (units.length === 0) return;
  const next = staged === undefined ? files : await filesAfterBoot(files, staged);
  if (next === undefined) return;
  const written = await pathsAfter(ports, from, to);
  const see: SeePath = async (path) => written.get(path) ?? next.facts(path);
  const missing: string[] = [];
  for (const unit of units) {
    const isThere =
      (await hasUnit(see, unit)) || (await isGenerated((path) => files.facts(path), unit));
    if (!isThere) missing.push(unit);
  }
  const [unit] = missing;
  if (unit === undefined) return;
  const brings =
    staged === undefined
      ? 'and its config brings none'
      : 'nor do its config or its new image bring one';
  throw fail(
    'ApplyFailed',
    `enable ${missing.join(', ')}: ${node} has no unit of that name, ${brings}; correct the name, or bring the unit before it is enabled`,
    { unit },
  );
}

async function pathsAfter(
  ports: Ports,
  from: HostConfig | undefined,
  to: HostConfig,
): Promise<ReadonlyMap<string, PathChange['state']>> {
  const old = from === undefined ? undefined : await heldPaths(ports.files, from.spec);
  const { changes } = await pathChanges(ports, old, await hostPaths(ports.files, to.spec));
  return new Map(changes.map(({ path, state }) => [path, state]));
}
