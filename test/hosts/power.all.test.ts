/** Power is cut at the worst moments, and a person boots another deployment. */

import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { returnToFirst, wrongAtRest } from './support/on-disk';
import { pictureOf } from './support/picture';
import { everything, expectWholeOrBackAfterCut, FILE, NAME } from './stories/power-cut';
import { REASON, STATE, startWorld, STORY_MS, type World } from './support/world';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    hosts: 1,
    policy: { verify: { readySeconds: 1 } },
    // Power cuts and a person's boots are reboots without an order.
    broken: ['I5'],
  });
});

afterEach(async () => {
  await world.machine.launcher.powerOn();
  expect(await returnToFirst(world, NAME)).toEqual([]);
}, STORY_MS);

test.each([
  ['while it prepares', '"activity":"prepareUpdate"', 'Activity started'],
  ['when it is prepared', '"activity":"prepareUpdate"', 'update prepared'],
  ['while it applies', '"activity":"applyUpdate"', 'Activity started'],
  ['when everything is applied', '"activity":"applyUpdate"', 'config applied'],
])(
  'a power cut %s leaves the update whole, or the machine as it was',
  (_when, activity, message) => expectWholeOrBackAfterCut(world, activity, message),
  STORY_MS,
);

test(
  'a power cut in the first boot of the update: it arrives whole all the same',
  async () => {
    const { machine } = world;
    await world.atRest(machine.name);
    const boots = machine.launcher.boots();
    const config = await world.roll(everything(world));
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
    await machine.output('slipway-ostree', 'rollback', String(current));
    await machine.output('systemctl', 'reboot');
    await world.until('the machine has booted the deployment of its config', () => {
      return world.node(machine.name).ready && machine.launcher.boots() === boots + 1;
    });
  },
  STORY_MS,
);
