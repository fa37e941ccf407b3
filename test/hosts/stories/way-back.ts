import { hostConfig, type HostConfigParts } from '../support/configs';
import { pictureOf } from '../support/picture';
import type { World } from '../support/world';

/** Expects the machine as it was. @returns the reason shown */
export async function expectWayBack(
  world: World,
  name: string,
  parts: HostConfigParts,
): Promise<string> {
  const { machine } = world;
  await world.atRest(machine.name);
  const before = await pictureOf(machine);
  await world.roll(hostConfig(name, parts));
  const reason = await world.failedAndBack(machine.name, world.fleet.firstConfig);
  await world.atRest(machine.name);
  expect(await pictureOf(machine)).toEqual(before);
  return reason;
}
