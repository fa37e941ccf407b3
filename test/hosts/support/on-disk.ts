/** What the disks of machines show, by no word of the product but their own records (I4, I7). */

import { openJournals, wrongOnDisk } from '../../e2e/support/disk-at-rest';
import { roomLeft } from '../../e2e/support/leftovers';
import { renderedConfigs } from '../../e2e/support/rendered-config';
import { rootOf } from './picture';
import type { World } from './world';

/**
 * Each machine is byte for byte on the config, by its own record, too, and keeps nothing for a way back. Whoever waits
 * for a slot has changed nothing yet.
 */
export async function expectOnDisk({ api, machines }: World, config: string): Promise<void> {
  const configs = await renderedConfigs(api);
  for (const machine of machines) {
    const root = rootOf(machine);
    const wrong = [
      ...(await wrongOnDisk(configs, config, root)),
      ...openJournals(root),
      ...(await roomLeft(root)),
    ];
    expect([machine.name, wrong]).toEqual([machine.name, []]);
  }
}

/** The same once their updates have ended, which they do after their nodes are done. */
export async function expectAtRestOn(world: World, config: string): Promise<void> {
  for (const { name } of world.machines) await world.atRest(name);
  await expectOnDisk(world, config);
}
