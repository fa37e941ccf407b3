/** One config with an OS image and all other parts, and rollbacks from it. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { restartOnChange, statusOfPolicies } from './support/disruption';
import { POOL } from './support/fleet';
import { wrongAtRest } from './support/on-disk';
import { pictureOf, rootOf } from './support/picture';
import { blobsOf } from './support/story-images';
import { startWorld, STORY_MS, type World } from './support/world';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3pDMjTQZTBtl1RH1FjAnfT1uGfIG2oV7rqzW3UyDkS ops';
const EVERYTHING = '50-everything';
/** More than one layer, a manifest and a config. */
const SMALL_BYTES = 1_000_000;
const READ = '/etc/reader.conf';
const READER = 'reader.service';
/** Fails on certain contents of its file; systemd restarts it again and again. */
const READER_UNIT = {
  ...service(READER, `/bin/sh -c 'grep -q ^good ${READ} && exec sleep infinity'`),
  dropins: [{ name: '10-always.conf', contents: '[Service]\nRestart=always\n' }],
};

const RESTARTS_READER = {
  path: READ,
  actions: [{ type: 'Restart', restart: { serviceName: READER } }],
};

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  await restartOnChange(world.fleet.manifests, READ, READER);
});

async function expectInService(config: string): Promise<void> {
  expect(world.record.violations).toEqual([]);
  expect(await wrongAtRest(world, config)).toEqual([]);
}

test(
  'an image, files, units and kernel arguments in one config arrive together, after one reboot',
  async () => {
    const { machine, fleet } = world;
    const mark = markOf(world.record);
    const {
      result: config,
      blobs,
      bytes,
    } = await fleet.registry.during(async () => {
      const rendered = await world.roll(
        hostConfig(EVERYTHING, {
          osImageURL: fleet.images.v2,
          kernelArguments: ['nosmt', 'audit="1"'],
          files: [plainFile('/etc/story.conf', 'of the story\n', 0o640), plainFile(READ, 'good\n')],
          units: [service('story.service', '/usr/bin/sleep infinity'), READER_UNIT],
          sshKeys: [KEY],
        }),
      );
      await world.allUpdatedTo(rendered);
      return rendered;
    });

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(await machine.output('cat', '/etc/os-default.conf')).toBe('default of v2\n');
    const running = (await machine.output('cat', '/proc/cmdline')).trim().split(' ');
    expect(running).toEqual(expect.arrayContaining(['root=/dev/vda', 'ro', 'nosmt', 'audit=1']));
    expect(await machine.output('systemctl', 'is-active', 'story.service')).toBe('active\n');
    await expectInService(config);

    // Only the changed layer was requested.
    const [old, now] = await Promise.all(
      [fleet.images.v1, fleet.images.v2].map((image) => blobsOf(fleet.registry, image)),
    );
    const fresh = now?.layers.filter((layer) => old?.layers.includes(layer) === false) ?? [];
    expect(fresh).toHaveLength(1);
    expect(new Set(blobs.map(({ digest }) => digest))).toEqual(new Set([now?.config, ...fresh]));
    expect(bytes).toBeLessThan(SMALL_BYTES);
  },
  STORY_MS,
);

test(
  'an SSH key changes the key and nothing else',
  async () => {
    const { machine } = world;
    const mark = markOf(world.record);
    await world.atRest(machine.name);
    const before = await pictureOf(machine);

    const config = await world.roll(hostConfig('60-key', { sshKeys: [`${KEY}-second`] }));
    await world.allUpdatedTo(config);

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([]);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    const keys = join(rootOf(machine), 'var/home/core/.ssh/authorized_keys.d/ignition');
    expect(await readFile(keys, 'utf8')).toBe(`${KEY}\n${KEY}-second\n`);
    const after = await pictureOf(machine);
    expect(after.deployments).toEqual(before.deployments);
    expect(after.units).toEqual(before.units);
    await expectInService(config);
  },
  STORY_MS,
);

test(
  'a change of registries.conf drains and reloads the runtime, and does not reboot',
  async () => {
    const { machine } = world;
    const mark = markOf(world.record);

    const config = await world.roll(
      hostConfig('70-registries', {
        files: [
          plainFile(
            '/etc/containers/registries.conf',
            '[[registry]]\nlocation = "shop.example.com"\n',
          ),
        ],
      }),
    );
    await world.allUpdatedTo(config);

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([]);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(true);
    expect(await machine.output('cat', '/run/crio-reloads')).toBe('reload\n');
    await expectInService(config);
  },
  STORY_MS,
);

test(
  'a file that only a service reads restarts the service, as status and plan say: no drain, no reboot',
  async () => {
    const { machine } = world;
    const mark = markOf(world.record);
    const before = await mainPid(READER);
    expect(await statusOfPolicies(world.api)).toMatchObject({
      nodeDisruptionPolicyStatus: {
        clusterPolicies: { files: expect.arrayContaining([RESTARTS_READER]) as unknown },
      },
      conditions: [{ type: 'NodeDisruptionPolicyDegraded', status: 'False' }],
    });

    const pause = ['rollout', 'pause', POOL, '--reason', 'somebody reads the plan'];
    expect((await world.slipway(...pause)).code).toBe(0);
    const config = await world.roll(
      hostConfig('80-reader', { files: [plainFile(READ, 'good, and new\n')] }),
    );
    const plan = await world.slipway('plan', POOL);
    expect(plan.out).toContain(
      `file ${READ} changed: restart ${READER} (MachineConfiguration cluster, files[0]: ${READ})`,
    );
    expect((await world.slipway('rollout', 'resume', POOL)).code).toBe(0);
    await world.allUpdatedTo(config);

    expect(rebootsOf(world.record, machine.name, mark)).toEqual([]);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    expect(await machine.output('systemctl', 'is-active', READER)).toBe('active\n');
    expect(await mainPid(READER)).not.toBe(before);
    await expectInService(config);
  },
  STORY_MS,
);

test(
  'a service that crashes on its new file again and again runs on the old one, and is named',
  async () => {
    const { machine } = world;
    const old = world.target();
    const mark = markOf(world.record);
    await world.atRest(machine.name);
    const before = await pictureOf(machine);

    await world.roll(hostConfig('80-reader', { files: [plainFile(READ, 'bad\n')] }));
    const reason = await world.failedAndBack(machine.name, old);

    expect(reason).toContain(READER);
    await world.atRest(machine.name);
    expect(await machine.output('systemctl', 'is-active', READER)).toBe('active\n');
    expect(await pictureOf(machine)).toEqual(before);
    expect(rebootsOf(world.record, machine.name, mark)).toEqual([]);
    await expectInService(old);
  },
  STORY_MS,
);

/** Another one after each start. */
function mainPid(unit: string): Promise<string> {
  return world.machine.output('systemctl', 'show', '--property=MainPID', unit);
}
