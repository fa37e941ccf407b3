import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostConfig, plainFile, service } from '../support/configs';
import { wrongAtRest } from '../support/on-disk';
import { type Picture, pictureOf } from '../support/picture';
import { CURRENT_CONFIG, REASON, STATE, type World } from '../support/world';

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

/** A machine starts from it when power is back. */
interface Cut {
  /** Starts before the cut. */
  readonly boots: number;
  /** The next boot starts the update's deployment. */
  readonly isNew: boolean;
  /** The old deployment has files of the update. */
  readonly isTouched: boolean;
}

export async function cutPower({ machine }: World): Promise<Cut> {
  await machine.launcher.cutPower();
  const deployment = await machine.deployment();
  const isNew = (await readFile(join(deployment, 'usr/lib/os-version'), 'utf8')) === 'v2\n';
  // The stamp for "no file before" comes first.
  const paths = [FILE, `/etc/systemd/system/${UNIT}`].flatMap((path) => [
    path,
    `/etc/machine-config-daemon/noorig${path}.mcdnoorig`,
  ]);
  const hasFiles = paths.some((path) => existsSync(join(deployment, path)));
  return { boots: machine.launcher.boots(), isNew, isTouched: !isNew && hasFiles };
}

/**
 * By hand, once more if that boot had read files that are then undone, and once for the update,
 * unless its deployment is in place.
 */
function bootsAfter({ isNew, isTouched }: Cut, isWhole: boolean): number {
  return 1 + Number(isTouched) + Number(isWhole !== isNew);
}

/**
 * ostree finalizes a staged deployment only during an orderly shutdown, so the whole update and the
 * old state with a reason are both right.
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
  // Found at the arming of the reboot, or at verification.
  expect(seen().annotations[REASON]).toMatch(
    /booted deployment .* expected|went down before deployment .* was in place/,
  );
  expect({ ...picture, deployments: picture.deployments[0] }).toEqual({
    ...before,
    deployments: before.deployments[0],
  });
}

/** Cuts the power once the host has logged both texts. */
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
  // Only a deployment in place may have been booted.
  expect(cut.boots - boots).toBeLessThanOrEqual(Number(cut.isNew));
  await machine.launcher.powerOn();

  await expectWholeOrBack(world, config, before, cut);
}
