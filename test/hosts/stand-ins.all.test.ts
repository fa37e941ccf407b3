/** Machines with stand-ins for rpm-ostree and for bootc. */

import { markOf, rebootsOf } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { wrongAtRest } from './support/on-disk';
import { pictureOf } from './support/picture';
import { carry, publishPackages } from './support/stand-ins';
import { startWorld, STORY_MS, type World } from './support/world';

const NAME = '50-everything';
/** Of the extension's package. */
const GUARD = '/usr/lib/usbguard/version';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
});

function everything(kernelArguments: readonly string[]) {
  return hostConfig(NAME, {
    osImageURL: world.fleet.images.v2,
    kernelArguments,
    files: [plainFile('/etc/story.conf', 'of the story\n', 0o640)],
    units: [service('story.service', '/usr/bin/sleep infinity')],
  });
}

async function expectUpdated(config: string): Promise<void> {
  const { machine } = world;
  expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
  expect(await machine.output('systemctl', 'is-active', 'story.service')).toBe('active\n');
  expect(await wrongAtRest(world, config)).toEqual([]);
  expect(world.record.violations).toEqual([]);
}

test(
  'rpm-ostree: image, file, unit, kernel argument and extension arrive together and go together',
  async () => {
    const { machine, fleet } = world;
    await carry(machine, 'rpm-ostree', ['rpm-ostree', 'podman']);
    const extensions = await publishPackages(fleet.registry, { usbguard: { [GUARD]: '1.1\n' } });
    const before = await pictureOf(machine);
    let mark = markOf(world.record);
    const object = everything(['nosmt', 'cgroup_no_v1="all"', 'dyndbg="file a.c +p"']);

    const config = await world.roll({
      ...object,
      spec: {
        ...object.spec,
        extensions: ['usbguard'],
        baseOSExtensionsContainerImage: extensions,
      },
    });
    await world.allUpdatedTo(config);

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
    await expectUpdated(config);
    expect(await machine.output('cat', GUARD)).toBe('1.1\n');
    const running = await machine.output('cat', '/proc/cmdline');
    expect(running).toContain(' nosmt cgroup_no_v1=all "dyndbg=file a.c +p"');
    expect((await pictureOf(machine)).deployments[0]).toContain(fleet.images.v2);

    mark = markOf(world.record);
    await world.unroll(NAME);
    await world.allUpdatedTo(fleet.firstConfig);
    expect(rebootsOf(world.record, machine.name, mark)).toEqual([fleet.firstConfig]);
    const [booted] = (await pictureOf(machine)).deployments;
    expect({ ...(await pictureOf(machine)), deployments: [booted] }).toEqual({
      ...before,
      deployments: before.deployments.slice(0, 1),
    });
    expect((await machine.run('test', '-e', GUARD)).status).toBe(1);
  },
  STORY_MS,
);

test(
  'bootc: image, file and unit arrive together, after one reboot',
  async () => {
    const { machine, fleet } = world;
    await carry(machine, 'bootc', ['bootc']);
    const mark = markOf(world.record);

    const config = await world.roll(everything([]));
    await world.allUpdatedTo(config);

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
    await expectUpdated(config);
    expect((await pictureOf(machine)).deployments[0]).toContain(fleet.images.v2);
  },
  STORY_MS,
);
