/** Pinned images on machines with a real containerd: one has only ctr, the other crictl too. */

import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureBinary } from '../../tools/binaries';
import { allThere, sealedImages } from '../../core/pinned-images';
import {
  GUARDED_PASSWORD,
  type GuardedRegistry,
  noise,
  startGuardedRegistry,
} from '../../tools/registry';
import { markOf, wasEverCordoned, wasEverNotReady } from '../e2e/support/judgements';
import { digestOfTag, writeLayout } from './build/oci-layout';
import { execute } from './execute';
import { CONTROL_PLANE } from './machine/network';
import { REGISTRY } from './machine/os-registry';
import type { Machine } from './machine/machine';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { CONTAINERD_CONFIG } from './support/containerd';
import { POOL } from './support/fleet';
import { wrongAtRest } from './support/on-disk';
import { pictureOf, rootOf } from './support/picture';
import { createSmallDisk, type SmallDisk } from './support/small-disk';
import { journalOf, startWorld, STORY_MS, type World } from './support/world';

const GROUP = 'machineconfiguration.openshift.io';
const SET = 'release';
const NAMES = [`${POOL}-0`, `${POOL}-1`];
const DISK_MIB = 2048;
const MIB = 1024 * 1024;
/** More than a fifth of the disk. */
const SPARE = 30 * MIB;

let world: World;
let guarded: GuardedRegistry;
const disks: SmallDisk[] = [];
/** On the open registry. */
let app: string;
let other: string;
/** On the guarded one. */
let secret: string;

aroundAll(async (lifetime) => {
  for (const name of NAMES) disks.push(await createSmallDisk(lifetime, name, DISK_MIB));
  world = await startWorld(lifetime, { hosts: 2, policy: { verify: { readySeconds: 1 } } });
  [app, other] = [await push('app', MIB), await push('other', MIB)];
  const name = await push('secret', MIB);
  guarded = await lifetime.own(
    () => startGuardedRegistry(world.fleet.registry, CONTROL_PLANE),
    (started) => started.stop(),
  );
  secret = name.replace(REGISTRY, guarded.registry.address);
  for (const machine of world.machines) await settle(machine);
  const [, modern] = world.machines;
  const program = join(rootOf(modern as Machine), 'var/usrlocal/bin/crictl');
  await mkdir(dirname(program), { recursive: true });
  await copyFile(await ensureBinary('crictl'), program);
  for (const machine of world.machines) await lookNow(machine);
});

afterEach(() => {
  for (const disk of disks) disk.free();
});

/** @returns the reference by digest */
async function push(name: string, bytes: number): Promise<string> {
  const { directory } = world.fleet.registry;
  const work = await mkdtemp(join(directory, 'pinned-'));
  try {
    const [folder, layout] = [join(work, 'tree'), join(work, 'oci')];
    await mkdir(folder);
    await writeFile(join(folder, 'noise'), noise(name, bytes));
    await writeLayout(layout, name, folder);
    await execute('skopeo', [
      ...['copy', '--quiet', '--dest-tls-verify=false', '--preserve-digests'],
      ...[`oci:${layout}:${name}`, `docker://${REGISTRY}/team/${name}:1`],
    ]);
    return `${REGISTRY}/team/${name}@${await digestOfTag(layout, name)}`;
  } finally {
    await rm(work, { recursive: true });
  }
}

/** As an administrator does: both registries, and the credentials of one. */
async function settle(machine: Machine): Promise<void> {
  const { address } = guarded.registry;
  const certs = `/etc/containerd/certs.d/${address}`;
  const files = {
    '/etc/containerd/config.toml': CONTAINERD_CONFIG,
    [`/etc/containerd/certs.d/${REGISTRY}/hosts.toml`]: `[host."http://${REGISTRY}"]\n`,
    [`${certs}/ca.crt`]: guarded.authority,
    [`${certs}/hosts.toml`]: `[host."https://${address}"]\nca = "${certs}/ca.crt"\n`,
    '/var/lib/kubelet/config.json': guarded.credentials(GUARDED_PASSWORD),
  };
  for (const [path, content] of Object.entries(files)) {
    const file = join(rootOf(machine), path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
  await machine.output('systemctl', 'restart', 'containerd.service');
}

/** It asks the server when it starts. */
async function lookNow(machine: Machine): Promise<void> {
  await machine.output('systemctl', 'restart', 'slipway-host.service');
}

async function pin(...images: readonly string[]): Promise<void> {
  const { fleet, machines, api } = world;
  const spec = { pinnedImages: images.map((name) => ({ name })) };
  const set = { apiVersion: `${GROUP}/v1`, kind: 'PinnedImageSet', metadata: { name: SET }, spec };
  await fleet.manifests.applyObject(set);
  await api.call('PATCH', `/apis/${GROUP}/v1/machineconfigpools/${POOL}`, {
    spec: { pinnedImageSets: [{ name: SET }] },
  });
  for (const machine of machines) await lookNow(machine);
}

const messageOf = (node: string, type: string): string =>
  world.record.machineConfigNode(node)?.conditions[type]?.message ?? '';

const allOf = (...images: readonly string[]): string =>
  allThere(sealedImages(POOL, sorted(...images)));

async function untilSaid(message: string, nodes: readonly string[] = NAMES): Promise<void> {
  const type = 'PinnedImageSetsProgressing';
  const said = () => nodes.map((node) => messageOf(node, type));
  try {
    await world.until(`${nodes.join(', ')}: ${message}`, () =>
      said().every((text) => text === message),
    );
  } catch (error) {
    const journals = await Promise.all(world.machines.map(journalOf));
    const more = [`last said: ${said().join(', ')}`, ...journals].join('\n');
    throw new Error(`${(error as Error).message}\n${more}`, { cause: error });
  }
}

async function imagesOf(machine: Machine, ...filters: readonly string[]): Promise<string[]> {
  const list = ['ctr', '-n', 'k8s.io', 'images', 'list', '--quiet', ...filters];
  const lines = (await machine.output(...list)).split('\n');
  return lines.filter((line) => line.startsWith(REGISTRY) || line.startsWith(CONTROL_PLANE));
}

const pinnedOn = (machine: Machine) =>
  imagesOf(machine, 'labels."io.cri-containerd.pinned"==pinned');

const sorted = (...images: readonly string[]) => [...images].sort();

async function kubectl(...args: readonly string[]): Promise<string> {
  const environment = { KUBECONFIG: world.fleet.cluster.adminKubeconfig };
  return execute(await ensureBinary('kubectl'), args, { environment });
}

/** What the pool says of its pinned images. */
async function counted(): Promise<unknown> {
  const pool = await world.api.call<{
    status: { poolSynchronizersStatus?: readonly object[] };
  }>('GET', `/apis/${GROUP}/v1/machineconfigpools/${POOL}`);
  return pool.status.poolSynchronizersStatus?.[0];
}

test(
  'the images of a set are pulled and pinned on every machine, and outlast a rollout',
  async () => {
    const { machines, record } = world;
    const mark = markOf(record);

    await pin(app, other);
    await untilSaid(allOf(app, other));

    for (const machine of machines) {
      expect((await imagesOf(machine)).sort()).toEqual(sorted(app, other));
      expect((await pinnedOn(machine)).sort()).toEqual(sorted(app, other));
      expect(wasEverCordoned(record, machine.name, mark)).toBe(false);
    }
    const [, modern] = machines;
    expect(await modern?.output('crictl', 'images', '--digests')).toContain('/team/app');
    await kubectl(
      ...['wait', 'mcp', POOL, '--timeout=30s'],
      '--for=jsonpath={.status.poolSynchronizersStatus[0].updatedMachineCount}=2',
    );

    const config = await world.roll(
      hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] }),
    );
    await world.allUpdatedTo(config);
    for (const machine of machines) {
      await world.atRest(machine.name);
      expect((await pinnedOn(machine)).sort()).toEqual(sorted(app, other));
    }
    expect(await wrongAtRest(world, config)).toEqual([]);
    expect(record.violations).toEqual([]);
  },
  STORY_MS,
);

test(
  'an image that is not there, is too large or needs a password is named, and nothing else is disturbed',
  async () => {
    const { machines, record } = world;
    const [old, modern] = machines as [Machine, Machine];
    const missing = `${REGISTRY}/team/app@sha256:${'0'.repeat(64)}`;
    const large = await push('large', SPARE / 3 + MIB);
    for (const disk of disks) disk.fill(Math.ceil(0.2 * DISK_MIB) * MIB + SPARE);
    const before = await Promise.all(machines.map(pictureOf));
    const boots = machines.map(({ launcher }) => launcher.boots());
    const mark = markOf(record);

    await pin(app, other, missing, large, secret);
    await untilSaid('2 of 5 pinned images are there', [old.name]);
    await untilSaid('3 of 5 pinned images are there', [modern.name]);
    for (const name of NAMES) await world.untilCondition(name, 'PinnedImageSetsDegraded', 'True');

    for (const [index, machine] of machines.entries()) {
      const said = messageOf(machine.name, 'PinnedImageSetsDegraded');
      expect(said).toMatch(new RegExp(`image ${missing}: (ctr|crictl) .*exit status 1`));
      expect(said).toMatch(
        new RegExp(`image ${large} is not pulled: the file system .* make room, or unpin images`),
      );
      expect(await pictureOf(machine)).toEqual(before[index]);
      expect(machine.launcher.boots()).toBe(boots[index]);
      expect(wasEverCordoned(record, machine.name, mark)).toBe(false);
      expect(wasEverNotReady(record, machine.name, mark)).toBe(false);
    }
    const refused = messageOf(old.name, 'PinnedImageSetsDegraded');
    expect(refused).toMatch(new RegExp(`image ${secret}: .*install crictl`));
    expect(messageOf(modern.name, 'PinnedImageSetsDegraded')).not.toContain(secret);
    expect((await pinnedOn(old)).sort()).toEqual(sorted(app, other));
    expect((await pinnedOn(modern)).sort()).toEqual(sorted(app, other, secret));
    expect(await counted()).toMatchObject({ machineCount: 2, updatedMachineCount: 0 });
    const logs = await modern.output('journalctl', '--unit=slipway-host.service', '--output=cat');
    expect(logs).not.toContain(GUARDED_PASSWORD);
  },
  STORY_MS,
);

test(
  'an image that leaves the set is unpinned and stays; one that somebody deleted comes back pinned',
  async () => {
    const { machines, api } = world;
    for (const machine of machines) {
      await machine.output('ctr', '-n', 'k8s.io', 'images', 'remove', '--sync', app);
    }

    await pin(app);
    await untilSaid(allOf(app));
    for (const machine of machines) {
      expect(await pinnedOn(machine)).toEqual([app]);
      expect(await imagesOf(machine)).toEqual(expect.arrayContaining([app, other]));
    }

    await api.call('PATCH', `/apis/${GROUP}/v1/machineconfigpools/${POOL}`, {
      spec: { pinnedImageSets: [] },
    });
    for (const machine of machines) await lookNow(machine);
    await untilSaid(allOf());
    for (const machine of machines) {
      expect(await pinnedOn(machine)).toEqual([]);
      expect(await imagesOf(machine)).toEqual(expect.arrayContaining([app, other]));
    }
  },
  STORY_MS,
);
