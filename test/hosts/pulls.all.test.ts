/** Layers stop arriving, or the machine refuses the image. The workload is not disturbed. */

import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  createSigner,
  ensureVerifyingSkopeo,
  type RegistryGate,
  SIGNATURES_BESIDE_IMAGES,
  type Signer,
  startGate,
} from '../../tools/registry';
import { markOf, rebootsOf, wasEverCordoned, wasEverNotReady } from '../e2e/support/judgements';
import { CONTROL_PLANE } from './machine/network';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { untilMissed } from './support/missed';
import { portOf } from './support/peers';
import { wrongAtRest } from './support/on-disk';
import { pictureOf, rootOf } from './support/picture';
import { createSmallDisk, type SmallDisk } from './support/small-disk';
import { publishStoryImage, type StoryImage } from './support/story-images';
import { POOL } from './support/fleet';
import { startWorld, STORY_MS, type World } from './support/world';

const NAME = '50-story';
const LAYERS = 3;
const LAYER_BYTES = 4 * 1024 * 1024;
/** The operating system and several of these images. */
const DISK_MIB = 2048;

let world: World;
let gate: RegistryGate;
let disk: SmallDisk;
let signer: Signer;

aroundAll(async (lifetime) => {
  disk = await createSmallDisk(lifetime, `${POOL}-0`, DISK_MIB);
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  gate = await lifetime.own(
    () => startGate(world.fleet.registry.address, CONTROL_PLANE),
    (started) => started.close(),
  );
  const settings = `[[registry]]\nlocation = "${gate.address}"\ninsecure = true\n`;
  const file = '/etc/containers/registries.conf.d/60-gate.conf';
  await world.machine.output('sh', '-c', `printf %s '${settings}' >${file}`);
});

// Each story begins with the config of the one before.
afterEach(async () => {
  disk.free();
  gate.decide(() => 'pass');
  gate.release();
  await world.machine.network.heal();
});

async function imageBehindGate(tag: string): Promise<StoryImage> {
  const { registry } = world.fleet;
  const image = await publishStoryImage({
    ...{ registry, tag, from: 'v1', layers: LAYERS, bytes: LAYER_BYTES },
  });
  return { ...image, reference: image.reference.replace(registry.address, gate.address) };
}

function configWith({ reference }: StoryImage) {
  return hostConfig(NAME, {
    osImageURL: reference,
    files: [plainFile('/etc/story.conf', 'of the story\n')],
  });
}

test(
  'a registry that goes away in the middle of a layer disturbs nothing; back again, it brings the rest',
  async () => {
    const { machine } = world;
    const image = await imageBehindGate('cut');
    const [first = '', second = ''] = image.added;
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    const mark = markOf(world.record);
    const boots = machine.launcher.boots();
    let isAway = false;
    gate.decide((digest) => {
      if (isAway) return 'cut';
      isAway = digest === second;
      return isAway ? 'half' : 'pass';
    });

    const config = await world.roll(configWith(image));
    await machine.untilLogged('PullFailed', config);

    expect(gate.asked).toEqual(expect.arrayContaining([first, second]));
    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    expect(machine.launcher.boots()).toBe(boots);
    gate.decide(() => 'pass');

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    await machine.output('test', '-f', '/usr/lib/story/cut');
    // Layers that had arrived are not pulled again.
    expect(gate.asked.filter((digest) => image.added.includes(digest))).toEqual(
      image.added.slice(1),
    );
  },
  STORY_MS,
);

test.each(['gateway', 'API server', 'server'] as const)(
  'cut off from the %s in the middle of a layer, it goes on by itself, and disturbs nothing meanwhile',
  async (peer) => {
    const { machine, fleet } = world;
    const tag = `cut-from-${peer.replace(' ', '-').toLowerCase()}`;
    const image = await imageBehindGate(tag);
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    const mark = markOf(world.record);
    const boots = machine.launcher.boots();
    gate.decide((digest) => (digest === image.added[1] ? 'hold' : 'pass'));

    const config = await world.roll(configWith(image));
    await gate.held();
    await machine.network.cut(portOf(fleet, peer));
    if (peer === 'gateway') await untilMissed(fleet, machine.name);
    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    gate.decide(() => 'pass');
    gate.release();
    // The pull needs no other peer than the registry.
    if (peer !== 'gateway')
      await machine.untilLogged('"activity":"prepareUpdate"', 'update prepared');
    await machine.network.heal();

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    await machine.output('test', '-f', `/usr/lib/story/${tag}`);
    expect(machine.launcher.boots()).toBe(boots + 1);
    expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
  },
  STORY_MS,
);

test(
  'a disk that runs full in the middle of the pull disturbs nothing; with room, a retry completes',
  async () => {
    const { machine } = world;
    const image = await imageBehindGate('full');
    const old = world.target();
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    const mark = markOf(world.record);
    const boots = machine.launcher.boots();
    let isFull = false;
    gate.decide((digest) => {
      if (!isFull && digest === image.added[1]) {
        isFull = true;
        disk.fill();
      }
      return 'pass';
    });

    const config = await world.roll(configWith(image));
    const reason = await world.failedAndBack(machine.name, old);

    expect(isFull).toBe(true);
    expect(reason).toMatch(/no space left on the disk/);
    await world.atRest(machine.name);
    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    expect(wasEverNotReady(world.record, machine.name, mark)).toBe(false);
    expect(machine.launcher.boots()).toBe(boots);

    disk.free();
    expect(await world.retry(machine.name)).toMatchObject({ code: 0 });

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    await machine.output('test', '-f', '/usr/lib/story/full');
  },
  STORY_MS,
);

test(
  'a policy that wants signatures refuses an image without one and disturbs nothing; signed, a retry takes it',
  async () => {
    const { machine } = world;
    const image = await imageBehindGate('signed');
    const [layer = ''] = image.added;
    const old = world.target();
    await world.atRest(machine.name);
    await demandSignatures(rootOf(machine));
    const before = await pictureOf(machine);
    const mark = markOf(world.record);
    const boots = machine.launcher.boots();
    gate.decide(() => 'pass');

    const config = await world.roll(configWith(image));
    const reason = await world.failedAndBack(machine.name, old);

    expect(reason).toMatch(/the signature policy of this host does not take image .*signature/);
    await world.atRest(machine.name);
    expect(gate.asked).not.toContain(layer);
    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    expect(machine.launcher.boots()).toBe(boots);

    const { address } = world.fleet.registry;
    await signer.sign(image.reference.replace(gate.address, address), `${gate.address}/os`);
    expect(await world.retry(machine.name)).toMatchObject({ code: 0 });

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    await machine.output('test', '-f', '/usr/lib/story/signed');
  },
  STORY_MS,
);

/** As an administrator does; the machine's skopeo may be too old to verify. */
async function demandSignatures(root: string): Promise<void> {
  signer = await world.lifetime.own(
    () => createSigner(),
    (created) => created.close(),
  );
  const skopeo = join(root, 'var/usrlocal/lib/skopeo');
  await mkdir(dirname(skopeo), { recursive: true });
  await cp(await ensureVerifyingSkopeo(), skopeo, { recursive: true, verbatimSymlinks: true });
  await mkdir(join(root, 'var/usrlocal/bin'), { recursive: true });
  await symlink('../lib/skopeo/skopeo', join(root, 'var/usrlocal/bin/skopeo'));
  const key = '/etc/pki/os-images.pub';
  const policy = {
    default: [{ type: 'insecureAcceptAnything' }],
    transports: { docker: { [gate.address]: [{ type: 'sigstoreSigned', keyPath: key }] } },
  };
  const files = {
    [key]: signer.publicKey,
    '/etc/containers/policy.json': JSON.stringify(policy),
    '/etc/containers/registries.d/50-signatures.yaml': SIGNATURES_BESIDE_IMAGES,
  };
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}
