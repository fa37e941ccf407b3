/** What the disks of machines show, by no word of the product but their own records (I4, I7). */

import { wrongOrLeft } from '../../e2e/support/disk-at-rest';
import { renderedConfigs } from '../../e2e/support/rendered-config';
import { rootOf } from './picture';
import type { World } from './world';

/**
 * Whoever waits for a slot has changed nothing yet, and may be asked for, too.
 *
 * @returns all that is not as it must be; empty = each machine is byte for byte on the config, by its own record, too,
 *   and keeps nothing for a way back
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

/** The same once their updates have ended, which they do after their nodes are done. */
export async function wrongAtRest(world: World, config: string): Promise<readonly string[]> {
  for (const { name } of world.machines) await world.atRest(name);
  return wrongOnDisks(world, config);
}
