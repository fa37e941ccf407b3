/**
 * The disks of machines (I4, I7), judged without the product's code except for the host's own
 * records.
 */

import { wrongOrLeft } from '../../e2e/support/disk-at-rest';
import { renderedConfigs } from '../../e2e/support/rendered-config';
import { rootOf } from './picture';
import type { World } from './world';

/**
 * Hosts that wait for a grant have changed nothing yet.
 *
 * @returns all violations; empty = each machine has the config byte for byte, also by its own
 *   record, and keeps nothing for rollback
 */
export async function wrongOnDisks(
  { api, machines }: World,
  config: string,
): Promise<readonly string[]> {
  const configs = await renderedConfigs(api);
  const found: string[] = [];
  for (const machine of machines) {
    const wrong = await wrongOrLeft(configs, config, rootOf(machine));
    found.push(...wrong.map((what) => `${machine.name}: ${what}`));
  }
  return found;
}

/** After the end of the updates, which is after their nodes are done. */
export async function wrongAtRest(world: World, config: string): Promise<readonly string[]> {
  for (const { name } of world.machines) await world.atRest(name);
  return wrongOnDisks(world, config);
}

/** For the next story. @returns what is wrong on disks then */
export async function returnToFirst(world: World, name: string): Promise<readonly string[]> {
  const { firstConfig } = world.fleet;
  if (world.target() === firstConfig) return [];
  await world.unroll(name);
  await world.allUpdatedTo(firstConfig);
  return wrongAtRest(world, firstConfig);
}
