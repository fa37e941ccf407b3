/** Power cuts in the middle of an update. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostConfig, plainFile, service } from '../support/configs';
import { wrongAtRest } from '../support/on-disk';
import { type Picture, pictureOf } from '../support/picture';
import { CURRENT_CONFIG, REASON, STATE, type World } from '../support/world';

/** The MachineConfig of the stories. */
export const NAME = '50-story';
export const FILE = '/etc/story.conf';
const UNIT = 'story.service';

/** An update that goes through every phase. */
export function everything(world: World) {
  return hostConfig(NAME, {
    osImageURL: world.fleet.images.v2,
    kernelArguments: ['nosmt'],
    files: [plainFile(FILE, 'of the story\n')],
    units: [service(UNIT, '/usr/bin/sleep infinity')],
  });
}

/** The state from which a machine without power starts again. */
interface Cut {
  /** Number of starts before. */
  readonly boots: number;
  /** The update's deployment is in place: the next boot starts it. */
  readonly isNew: boolean;
  /** The old deployment has files of the update. */
  readonly isTouched: boolean;
}

export async function cutPower({ machine }: World): Promise<Cut> {
  await machine.launcher.cutPower();
  const deployment = await machine.deployment();
  const isNew = (await readFile(join(deployment, 'usr/lib/os-version'), 'utf8')) === 'v2\n';
  // The stamp for "no file before" comes before the file.
  const paths = [FILE, `/etc/systemd/system/${UNIT}`].flatMap((path) => [
    path,
    `/etc/machine-config-daemon/noorig${path}.mcdnoorig`,
  ]);
  const hasFiles = paths.some((path) => existsSync(join(deployment, path)));
  return { boots: machine.launcher.boots(), isNew, isTouched: !isNew && hasFiles };
}

/**
 * Starts of the machine from the cut on: by hand, once more if that boot had read files that are then undone, and
 * once for the update, unless its deployment is in place.
 */
function bootsAfter({ isNew, isTouched }: Cut, isWhole: boolean): number {
  return 1 + Number(isTouched) + Number(isWhole !== isNew);
}

/**
 * A power cut may leave the whole update, or the old state with a reason. ostree finalizes a staged deployment
 * only during an orderly shutdown, so both are right, depending on the moment.
 */
async function expectWholeOrBack(
  world: World,
  config: string,
  before: Picture,
  cut: Cut,
): Promise<void> {
  const { machine, fleet } = world;
  const seen = () => world.node(machine.name);
  await world.until('the update has ended, one way or the other', () => {
    const { annotations, ready, unschedulable } = seen();
    const isWhole = annotations[CURRENT_CONFIG] === config && annotations[STATE] === 'Done';
    return (isWhole || annotations[STATE] === 'Degraded') && ready && !unschedulable;
  });
  await world.atRest(machine.name);
  const now = seen().annotations[CURRENT_CONFIG] ?? '';
  expect([config, fleet.firstConfig]).toContain(now);
  expect(await wrongAtRest(world, now)).toEqual([]);
  const boots = machine.launcher.boots() - cut.boots;
  expect({ ...cut, now, boots }).toEqual({ ...cut, now, boots: bootsAfter(cut, now === config) });
  const picture = await pictureOf(machine);
  if (now === config) {
    expect(picture.deployments[0]).toMatch(/^v2 /);
    expect(picture.commandLine).toContain('nosmt');
    return;
  }
  // Found by the next step: arming of the reboot, or the verification.
  expect(seen().annotations[REASON]).toMatch(
    /booted deployment .* expected|went down before deployment .* was in place/,
  );
  expect({ ...picture, deployments: picture.deployments[0] }).toEqual({
    ...before,
    deployments: before.deployments[0],
  });
}

/** Cuts the power once the host has logged both texts, and expects the update whole or the machine as it was. */
export async function expectWholeOrBackAfterCut(
  world: World,
  ...logged: readonly string[]
): Promise<void> {
  const { machine } = world;
  await world.atRest(machine.name);
  const before = await pictureOf(machine);
  const boots = machine.launcher.boots();
  const config = await world.roll(everything(world));
  await machine.untilLogged(...logged);

  const cut = await cutPower(world);
  // A deployment in place may have been booted, and nothing else.
  expect(cut.boots - boots).toBeLessThanOrEqual(Number(cut.isNew));
  await machine.launcher.powerOn();

  await expectWholeOrBack(world, config, before, cut);
}
