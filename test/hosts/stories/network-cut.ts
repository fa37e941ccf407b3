/** A machine that is cut off from one peer during an update, and goes on by itself. */

import { isApplied } from '../../e2e/support/disk-at-rest';
import { markOf, rebootsOf } from '../../e2e/support/judgements';
import { holdAt } from '../support/held-program';
import { wrongAtRest } from '../support/on-disk';
import { type Peer, portOf } from '../support/peers';
import { rootOf } from '../support/picture';
import { CURRENT_CONFIG, type World } from '../support/world';

export type Moment = (config: string, boots: number) => Promise<void>;

export interface Cut {
  readonly peer: Peer;
  readonly at: Moment | 'at first' | 'held';
  /** The cut had its effect, or lasted long enough to have one. */
  readonly until: Moment;
}

/**
 * The files are written, and the journal does not say that all is applied; the answer is lost, too.
 */
const IN_APPLY = 'kernel-arguments';

/** @param update - to the second version of the image */
export async function expectToGoOnThrough(
  world: World,
  update: object,
  { peer, at, until }: Cut,
): Promise<void> {
  const { machine } = world;
  await world.atRest(machine.name);
  const mark = markOf(world.record);
  const boots = machine.launcher.boots();
  const cut = () => machine.network.cut(portOf(world.fleet, peer));
  const held = at === 'held' ? await holdAt(machine, IN_APPLY) : undefined;
  if (at === 'at first') await cut();
  const config = await world.roll(update);
  if (typeof at === 'function') {
    await at(config, boots);
    await cut();
  }
  if (held !== undefined) {
    await held.untilReached();
    await cut();
    expect(isApplied(rootOf(machine))).toBe(false);
    await held.release();
  }
  expect(world.node(machine.name).annotations[CURRENT_CONFIG]).not.toBe(config);
  await until(config, boots);
  await machine.network.heal();

  await world.allUpdatedTo(config);
  expect(await wrongAtRest(world, config)).toEqual([]);
  expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
  expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
}
