/** Power is cut at the worst moments, and a person boots another deployment. */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostConfig, plainFile, service } from './support/configs';
import { wrongAtRest } from './support/on-disk';
import { type Picture, pictureOf } from './support/picture';
import {
  CURRENT_CONFIG,
  REASON,
  START_MS,
  STATE,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const NAME = '50-story';
const FILE = '/etc/story.conf';
const UNIT = 'story.service';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    hosts: 1,
    policy: { verify: { readySeconds: 1 } },
    // Power cuts and a person's boots are reboots without an order.
    broken: ['I5'],
  });
}, START_MS);

afterEach(async () => {
  await world.machine.launcher.powerOn();
  if (world.target() === world.fleet.firstConfig) return;
  await world.unroll(NAME);
  await world.allUpdatedTo(world.fleet.firstConfig);
  expect(await wrongAtRest(world, world.fleet.firstConfig)).toEqual([]);
}, STORY_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

function everything() {
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

async function cutPower(): Promise<Cut> {
  const { machine } = world;
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
async function expectWholeOrBack(config: string, before: Picture, cut: Cut): Promise<void> {
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

test.each([
  ['while it prepares', '"activity":"prepareUpdate"', 'Activity started'],
  ['when it is prepared', '"activity":"prepareUpdate"', 'update prepared'],
  ['while it applies', '"activity":"applyUpdate"', 'Activity started'],
  ['when everything is applied', '"activity":"applyUpdate"', 'config applied'],
  ['when the reboot is armed', '"activity":"armReboot"', 'reboot armed'],
])(
  'a power cut %s leaves the update whole, or the machine as it was',
  async (_when, activity, message) => {
    const { machine } = world;
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    const boots = machine.launcher.boots();
    const config = await world.roll(everything());
    await machine.untilLogged(activity, message);

    const cut = await cutPower();
    // A deployment in place may have been booted, and nothing else.
    expect(cut.boots - boots).toBeLessThanOrEqual(Number(cut.isNew));
    await machine.launcher.powerOn();

    await expectWholeOrBack(config, before, cut);
  },
  STORY_MS,
);

test(
  'a power cut in the first boot of the update: it arrives whole all the same',
  async () => {
    const { machine } = world;
    await world.atRest(machine.name);
    const boots = machine.launcher.boots();
    const config = await world.roll(everything());
    await machine.launcher.untilBoots(boots + 1);

    await machine.launcher.cutPower();
    await machine.launcher.powerOn();

    await world.allUpdatedTo(config);
    await world.atRest(machine.name);
    expect(machine.launcher.boots()).toBe(boots + 2);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await wrongAtRest(world, config)).toEqual([]);
  },
  STORY_MS,
);

test(
  'a person who boots the old deployment is seen and reported, not fought',
  async () => {
    const { machine } = world;
    const first = machine.launcher.boots();
    const config = await world.roll(hostConfig(NAME, { osImageURL: world.fleet.images.v2 }));
    await world.allUpdatedTo(config);
    expect(machine.launcher.boots()).toBe(first + 1);
    const before = world.node(machine.name).bootID;
    const [, current] =
      (await machine.output('ostree', 'admin', 'status')).match(/\* \S+ (\S+)/) ?? [];
    const [, old] = await machine
      .output('ostree', 'admin', 'status')
      .then((text) => text.match(/ (\S+\.\d+) \(rollback\)/) ?? []);

    await machine.output('slipway-ostree', 'rollback', String(old));
    await machine.output('systemctl', 'reboot');

    await world.until('the machine has booted the old deployment', () => {
      const { bootID, ready } = world.node(machine.name);
      return bootID !== before && ready;
    });
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v1\n');
    const boots = machine.launcher.boots();
    expect(boots).toBe(first + 2);

    await world.roll(
      hostConfig(NAME, {
        osImageURL: world.fleet.images.v2,
        files: [plainFile(FILE, 'of the story\n')],
      }),
    );
    await world.until('the wrong deployment is reported', () => {
      return world.node(machine.name).annotations[STATE] === 'Degraded';
    });

    expect(world.node(machine.name).annotations[REASON]).toMatch(/deployment|OS image/);
    expect((await pictureOf(machine)).deployments[0]).toMatch(/^v1 /);
    expect(machine.launcher.boots()).toBe(boots);
    // Restores the state for the next story.
    await machine.output('slipway-ostree', 'rollback', String(current));
    await machine.output('systemctl', 'reboot');
    await world.until('the machine has booted the deployment of its config', () => {
      return world.node(machine.name).ready && machine.launcher.boots() === boots + 1;
    });
  },
  STORY_MS,
);
