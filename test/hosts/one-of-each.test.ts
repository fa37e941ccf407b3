/**
 * Of each kind of story on real machines the one that shows most; `npm run test:all` has the
 * others.
 */

import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import type { Machine } from './machine/machine';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { POOL } from './support/fleet';
import { expectToGoOnThrough } from './stories/network-cut';
import { installMachine } from './support/new-machine';
import { returnToFirst, wrongAtRest } from './support/on-disk';
import { expectWholeOrBackAfterCut, NAME } from './stories/power-cut';
import { expectWayBack } from './stories/way-back';
import { startWorld, STORY_MS, type World } from './support/world';

const NEW = `${POOL}-1`;

let world: World;
let joining: Machine | undefined;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    hosts: 1,
    policy: { verify: { readySeconds: 1 } },
    // A power cut is a reboot without an order.
    broken: ['I5'],
  });
});

// Each story begins on the first config.
afterEach(async () => {
  await world.machine.network.heal();
  await world.machine.launcher.powerOn();
  // The last story has two machines.
  if (joining !== undefined) return;
  expect(await returnToFirst(world, NAME)).toEqual([]);
}, STORY_MS);

/** With and without the reboot. */
function everything() {
  return hostConfig(NAME, {
    osImageURL: world.fleet.images.v2,
    kernelArguments: ['nosmt'],
    files: [plainFile('/etc/story.conf', 'of the story\n', 0o640)],
    units: [service('story.service', '/usr/bin/sleep infinity')],
  });
}

// First: a machine that was updated before has an older deployment, which goes with the rollback.
test(
  'a rollback: of an image whose kubelet does not start the machine goes back, byte for byte',
  async () => {
    const boots = world.machine.launcher.boots();

    const reason = await expectWayBack(world, NAME, {
      osImageURL: world.fleet.images['no-kubelet'],
      kernelArguments: ['nosmt'],
      files: [plainFile('/etc/story.conf', 'of the story\n')],
    });

    expect(reason).toMatch(/kubelet/i);
    // Update, rollback, and once more: early services had read the update's files.
    expect(world.machine.launcher.boots() - boots).toBe(3);
  },
  STORY_MS,
);

test(
  'an update: image, file, unit and kernel argument arrive together, after one reboot',
  async () => {
    const { machine, record } = world;
    const mark = markOf(record);

    const config = await world.roll(everything());
    await world.allUpdatedTo(config);

    expect(rebootsOf(record, machine.name, mark)).toEqual([config]);
    expect(wasEverCordoned(record, machine.name, mark)).toBe(true);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await machine.output('cat', '/proc/cmdline')).toContain('nosmt');
    expect(await machine.output('systemctl', 'is-active', 'story.service')).toBe('active\n');
    expect(await wrongAtRest(world, config)).toEqual([]);
  },
  STORY_MS,
);

test(
  'a power cut when the reboot is armed leaves the update whole, or the machine as it was',
  () => expectWholeOrBackAfterCut(world, '"activity":"armReboot"', 'reboot armed'),
  STORY_MS,
);

test(
  'a network cut: without the server before it applies it goes on by itself, with one reboot',
  () =>
    expectToGoOnThrough(world, everything(), {
      peer: 'server',
      // The log of this boot may have other updates.
      at: (config) => world.machine.untilLogged(`"config":"${config}"`, 'update prepared'),
      until: (_config, boots) => world.machine.launcher.untilBoots(boots + 1),
    }),
  STORY_MS,
);

test(
  'a machine that joins gets image and kernel arguments with one reboot, and is a member without another one',
  async () => {
    const config = await world.roll(everything());
    await world.allUpdatedTo(config);
    const mark = markOf(world.record);

    joining = await installMachine(world, NEW, 2);
    await joining.launcher.powerOn();
    const labels = { [`node-role.kubernetes.io/${POOL}`]: '' };
    await world.api.call('PATCH', `/api/v1/nodes/${NEW}`, { metadata: { labels } });
    await world.until(`${NEW} is seen`, () => world.record.node(NEW) !== undefined);
    await world.allUpdatedTo(config, [`${POOL}-0`, NEW]);

    expect(joining.launcher.boots()).toBe(2);
    expect(await joining.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await joining.output('cat', '/proc/cmdline')).toContain('nosmt');
    expect(wasEverCordoned(world.record, NEW, mark)).toBe(false);
  },
  STORY_MS,
);
