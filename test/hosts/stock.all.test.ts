/** Machines that boot from an image of a distribution get the host worker before their kubelet starts. */

import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { VERSION } from '../../process/version';
import { ensureBinary } from '../../tools/binaries';
import { repositoryRoot } from '../../tools/repository-root';
import { until as eventually } from '../integration/tools/until';
import type { ObservedNode } from '../observer/observed';
import type { Observer } from '../observer/observer';
import { until } from '../observer/until';
import { execute } from './execute';
import { PATIENCE_MS } from './machine/deadline';
import { hostSettings, type PointerConfig } from './machine/join';
import { REGISTRY } from './machine/os-registry';
import type { Machine } from './machine/machine';
import { aroundAll } from './support/around-all';
import { temporaryDirectory } from './support/temporary-directory';
import { type HostConfigParts, hostConfig, plainFile } from './support/configs';
import { BASE, withBase } from './support/container-images';
import { installMachine } from './support/new-machine';
import { observePool } from './support/pool-observer';
import {
  CURRENT_CONFIG,
  journalOf,
  startWorld,
  STATE,
  STORY_MS,
  type World,
} from './support/world';

const POOL = 'infra';
const LABELS = { [`node-role.kubernetes.io/${POOL}`]: '' };
const FETCH = 'slipway-host-fetch.service';
const FIRST_BOOT = 'slipway-host-first-boot.service';
const BUILT = join(repositoryRoot(), 'dist/host-worker');
const DIGEST = 'x86_64.sha256';

let world: World;
let observer: Observer;
let directory: string;
const machines: Machine[] = [];

aroundAll(async (lifetime) => {
  directory = await temporaryDirectory(lifetime, 'slipway-stock-');
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  observer = await observePool(world, POOL);
  const { manifests, images } = world.fleet;
  await manifests.applyObject({
    ...{ apiVersion: 'slipway.dev/v1alpha1', kind: 'RolloutPolicy', metadata: { name: POOL } },
    ...{ spec: { verify: { readySeconds: 1 } } },
  });
  await manifests.applyObject(ofPool('50-image', { osImageURL: images.stock }));
  await manifests.applyFiles('deploy/samples/pool-infra.yaml');
  await until(observer.record, 'the pool is rendered', () => target() !== '');
});

const target = (): string => observer.record.pool(POOL)?.target ?? '';

function ofPool(name: string, parts: HostConfigParts) {
  const metadata = { name, labels: { 'machineconfiguration.openshift.io/role': POOL } };
  return { ...hostConfig(name, parts), metadata };
}

/** Returns the rendered config. */
async function roll(name: string, parts: HostConfigParts): Promise<string> {
  const before = target();
  await world.fleet.manifests.applyObject(ofPool(name, parts));
  await until(observer.record, 'the pool has another config', () => target() !== before);
  return target();
}

/** As a person runs it, with the settings of docs/install.md. */
async function userData(...command: readonly string[]): Promise<string> {
  const { product, cluster } = world.fleet;
  const settings = join(directory, 'host.yaml');
  const given = { authorityFile: '/etc/slipway/server-ca.crt' };
  const { ignitionEndpoint } = product;
  await writeFile(settings, hostSettings({ ...product, settings: given }));
  const where = ['--server-url', ignitionEndpoint, '--ca-file', cluster.caFile];
  const { code, out, err } = await world.slipway(...command, ...where, '--host-settings', settings);
  if (code !== 0) throw new Error(err);
  return out;
}

/** The first block of a page that matches. */
async function documented(page: string, block: RegExp): Promise<string> {
  const found = block.exec(await readFile(join(repositoryRoot(), page), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${page} has no such block: ${String(block)}`);
  return found;
}

async function documentedButane(): Promise<string> {
  const block = await documented('docs/joining.md', /```yaml\n(variant: fcos\n[^`]+)```/);
  return block.replaceAll('worker.ign', `${POOL}.ign`);
}

async function install(
  number: number,
  given: {
    readonly pointer?: PointerConfig;
    readonly files?: Readonly<Record<string, string>>;
    readonly reference?: string;
  },
): Promise<Machine> {
  const machine = await installMachine(world, `${POOL}-${machines.length}`, number, {
    image: 'stock',
    ...given,
  });
  machines.push(machine);
  return machine;
}

const label = (node: string) =>
  world.api.call('PATCH', `/api/v1/nodes/${node}`, { metadata: { labels: LABELS } });

const untilIn = (machine: Machine, what: string, ...command: readonly string[]): Promise<void> =>
  eventually(async () => (await machine.run(...command)).status === 0, what, PATIENCE_MS).catch(
    async (error: Error) => {
      const units = [FETCH, FIRST_BOOT, 'kubelet.service', 'cloud-init.service'];
      const named = units.map((unit) => `--unit=${unit}`);
      const { out } = await machine.run('journalctl', '--boot', '--no-pager', ...named);
      throw new Error(`${error.message}\n${out}`);
    },
  );

const untilFetchSays = (machine: Machine, text: string): Promise<void> =>
  untilIn(
    machine,
    `the journal says: ${text}`,
    'sh',
    '-c',
    `journalctl -u ${FETCH} | grep -q '${text}'`,
  );

async function untilOn(machine: Machine, config: string): Promise<void> {
  const isThere = (node: ObservedNode | undefined): boolean =>
    node?.annotations[CURRENT_CONFIG] === config &&
    node.annotations[STATE] === 'Done' &&
    node.ready &&
    !node.unschedulable;
  const there = () => isThere(observer.record.node(machine.name));
  await until(observer.record, `${machine.name} is on ${config}`, there, PATIENCE_MS).catch(
    async (error: Error) => {
      const { out } = await world.slipway('rollout', 'status', POOL);
      throw new Error(`${error.message}\n${out}\n${await journalOf(machine)}`);
    },
  );
}

/** Microseconds since the boot. */
async function startOf(machine: Machine, unit: string): Promise<number> {
  const property = ['--property=ExecMainStartTimestampMonotonic', '--value'];
  return Number(await machine.output('systemctl', 'show', ...property, unit));
}

test(
  'cloud-init: its kubelet waits for the host worker, which it gets with the right digest only; then it is updated',
  async () => {
    const { product } = world.fleet;
    const archives = join(directory, 'archives');
    await cp(BUILT, archives, { recursive: true });
    await rename(join(archives, DIGEST), join(archives, 'kept'));
    await product.end('server');
    const environment = { SLIPWAY_HOST_WORKER_DIRECTORY: archives };
    await product.start('server', { environment });
    const text = await userData('cloud-config');
    const seed = '/var/lib/cloud/seed/nocloud';
    const machine = await install(2, {
      files: {
        [`${seed}/user-data`]: text,
        [`${seed}/meta-data`]: `instance-id: ${POOL}-0\nlocal-hostname: ${POOL}-0\n`,
      },
    });
    expect(Object.keys(parse(text) as object)).toEqual(['bootcmd']);
    await machine.launcher.powerOn();
    await untilFetchSays(machine, '404');
    await writeFile(join(archives, DIGEST), `${'0'.repeat(64)}\n`);
    await untilFetchSays(machine, 'computed checksum did NOT match');
    expect((await machine.run('test', '-e', '/var/lib/slipway/host')).status).not.toBe(0);
    expect((await machine.run('systemctl', 'is-active', 'kubelet.service')).out).toBe('inactive\n');

    await rename(join(archives, 'kept'), join(archives, DIGEST));
    await untilIn(machine, 'the kubelet runs', 'systemctl', 'is-active', 'kubelet.service');
    await label(machine.name);
    await untilOn(machine, target());
    const boots = machine.launcher.boots();
    const config = await roll('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] });
    await untilOn(machine, config);

    expect(machine.launcher.boots()).toBe(boots + 1);
    expect(await machine.output('cat', '/etc/story.conf')).toBe('one\n');
    expect((await machine.run('systemctl', 'is-enabled', FETCH)).out).toBe('disabled\n');
    expect((await machine.run('systemctl', 'is-active', FETCH)).out).toBe('inactive\n');
  },
  STORY_MS,
);

test(
  'Ignition from Butane: it gets the host worker, completes its first boot with it, and joins on the config of the pool',
  async () => {
    const config = await roll('60-arguments', { kernelArguments: ['nosmt'] });
    await untilOn(machines[0] as Machine, config);
    const pointer = await userData('pointer-config', POOL, '--ttl', '1h');
    await writeFile(join(directory, 'infra.ign'), pointer);
    await writeFile(join(directory, 'infra.bu'), await documentedButane());
    const butane = await ensureBinary('butane');
    const files = ['--strict', '--files-dir', directory, join(directory, 'infra.bu')];
    const merged = JSON.parse(await execute(butane, files)) as PointerConfig;
    const machine = await install(3, { pointer: merged });

    await machine.launcher.powerOn();
    await label(machine.name);
    await untilOn(machine, config);

    expect(machine.launcher.boots()).toBe(2);
    expect(await machine.output('cat', '/proc/cmdline')).toContain('nosmt');
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('stock\n');
    const seen = observer.record.changes.filter(({ node }) => node.name === machine.name);
    // The kubelet has never run in the first boot.
    const boot = observer.record.node(machine.name)?.bootID;
    expect(new Set(seen.map(({ node }) => node.bootID))).toEqual(new Set(['', boot]));
    expect(await startOf(machine, FIRST_BOOT)).toBeLessThan(
      await startOf(machine, 'kubelet.service'),
    );
    const { out } = await world.slipway('get', 'nodes', '--pool', POOL, '-o', 'wide');
    expect(out.split('\n').filter((line) => line.includes(` ${VERSION}`))).toHaveLength(2);
  },
  STORY_MS,
);

test(
  'an OS image that was built as documented has it in its image',
  async () => {
    const block = await documented('docs/machines.md', /```dockerfile\n([^`]+)```/);
    const host = /--from=(\S+)/.exec(block)?.[1] ?? '';
    const containers = await withBase(join(directory, 'buildah'));
    await containers.build(
      join(repositoryRoot(), 'deploy/Containerfile.host'),
      join(repositoryRoot(), 'dist/host-bundle'),
      ...([host, BASE] as const),
    );
    await containers.pull(world.fleet.images.stock, 'localhost/stock');
    const context = join(directory, 'os');
    await mkdir(context);
    const { cluster, product } = world.fleet;
    await writeFile(join(context, 'host.yaml'), hostSettings(product));
    await writeFile(join(context, 'server-ca.crt'), cluster.ca);
    await writeFile(join(context, 'order-keys.json'), product.orderKeys);
    await writeFile(join(context, 'Containerfile'), `ARG BASE\nFROM \${BASE}\n${block}`);
    const file = join(context, 'Containerfile');
    await containers.build(file, context, 'localhost/documented', 'localhost/stock');
    const reference = await containers.push('localhost/documented', `${REGISTRY}/os:documented`);

    const machine = await install(4, { reference, files: {} });
    await machine.launcher.powerOn();

    const isActive = ['systemctl', 'is-active', 'slipway-host.service'];
    await untilIn(machine, 'its host worker runs', ...isActive);
    expect(await machine.output('slipway', 'host', 'status')).toContain(machine.name);
    expect(await machine.output('readlink', '-f', '/usr/bin/slipway')).toBe(
      '/usr/lib/slipway/slipway\n',
    );
  },
  STORY_MS,
);
