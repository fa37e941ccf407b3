/** Machines boot, join, run pods and can be cut off. */

import { VERSION } from '../../process/version';
import { CONTROL_PLANE } from './machine/network';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { startWorld, STORY_MS, type World } from './support/world';
import { hostNetworkPods } from './support/pods';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    hosts: 1,
    // A reboot without an order.
    broken: ['I5'],
  });
});

test(
  'a machine boots its image, joins as its node, and a reboot shows in the boot id',
  async () => {
    const { machine } = world;
    const before = world.node(machine.name).bootID;

    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v1\n');
    expect((await machine.output('cat', '/proc/cmdline')).split(' ')).toEqual(
      expect.arrayContaining(['root=/dev/vda', 'ro']),
    );
    expect(await machine.output('cat', '/proc/sys/kernel/random/boot_id')).toBe(`${before}\n`);
    const { out } = await world.slipway('get', 'nodes', '-o', 'wide');
    const row = out.split('\n').find((line) => line.startsWith(machine.name));
    expect(row).toContain(` ${VERSION}`);

    await machine.output('systemctl', 'reboot');
    await world.until(`${machine.name} has booted again`, () => {
      const { bootID, ready } = world.node(machine.name);
      return bootID !== before && ready;
    });
    expect(machine.launcher.boots()).toBe(2);
  },
  STORY_MS,
);

test(
  'its container runtime runs pods, and a drain evicts them',
  async () => {
    const { machine, fleet } = world;
    await fleet.manifests.applyObject(hostNetworkPods('shop'));
    await world.until('the pod is ready', () => world.record.pods.some(({ ready }) => ready));
    const { evictions } = world.record;
    const boots = machine.launcher.boots();

    const config = await world.roll(
      hostConfig('50-drained', { files: [plainFile('/etc/story.conf', 'of the story\n')] }),
    );
    await world.allUpdatedTo(config);

    expect(machine.launcher.boots()).toBe(boots + 1);
    expect(world.record.evictions).toBe(evictions + 1);
    await world.until('the pod is back', () => world.record.pods.some(({ ready }) => ready));
    expect(await machine.output('ctr', '-n', 'k8s.io', 'tasks', 'list')).toContain('RUNNING');
  },
  STORY_MS,
);

test(
  'its cable can be pulled and put back',
  async () => {
    const { machine } = world;
    const boots = machine.launcher.boots();
    await machine.network.connect(false);
    expect(
      (await machine.run('busybox', 'ping', '-c', '1', '-W', '1', CONTROL_PLANE)).status,
    ).not.toBe(0);

    await machine.network.connect(true);

    await machine.output('busybox', 'ping', '-c', '1', '-W', '5', CONTROL_PLANE);
    expect(machine.launcher.boots()).toBe(boots);
  },
  STORY_MS,
);
