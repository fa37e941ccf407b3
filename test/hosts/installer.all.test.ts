/** The DaemonSet of deploy/installer brings the host worker onto a machine, and another version of it, and takes it off. */

import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';
import { VERSION } from '../../process/version';
import { ensureBinary } from '../../tools/binaries';
import { repositoryRoot } from '../../tools/repository-root';
import type { ObservedNode } from '../observer/observed';
import type { Observer } from '../observer/observer';
import { until as eventually } from '../integration/tools/until';
import { until } from '../observer/until';
import { execute } from './execute';
import { PATIENCE_MS } from './machine/deadline';
import type { Machine } from './machine/machine';
import { aroundAll } from './support/around-all';
import { temporaryDirectory } from './support/temporary-directory';
import { type HostConfigParts, hostConfig, plainFile } from './support/configs';
import { type ContainerImages, createContainerImages } from './support/container-images';
import { writeInstallerOverlay } from './support/installer-overlay';
import { leftOnMachine } from './support/left-on-machine';
import { installMachine } from './support/new-machine';
import { observePool } from './support/pool-observer';
import {
  CURRENT_CONFIG,
  journalOf,
  REASON,
  startWorld,
  STATE,
  STORY_MS,
  type World,
} from './support/world';

const ROOT = repositoryRoot();
const POOL = 'infra';
const NODE = 'infra-0';
const LABELS = { [`node-role.kubernetes.io/${POOL}`]: '' };
const VERSION_FILE = '/etc/slipway-host-version';
const POD_LOGS = '/var/log/pods/slipway-installer_*/installer/*.log';
const NEXT = '9.9.9';
const BROKEN = '9.9.10';
let world: World;
let machine: Machine;
let observer: Observer;
let directory: string;
let images: ContainerImages;

aroundAll(async (lifetime) => {
  directory = await temporaryDirectory(lifetime, 'slipway-installer-');
  images = await createContainerImages(directory);
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  machine = await installMachine(world, NODE, 2, { image: 'bare' });
  await machine.launcher.powerOn();
  observer = await observePool(world, POOL);
});

/** As a person does. */
async function applyInstaller(base: string, version: string): Promise<void> {
  const { temporal, product, cluster } = world.fleet;
  const overlay = join(directory, 'overlay');
  const place = { base, version, temporal, product, authority: cluster.ca };
  await writeInstallerOverlay(overlay, place);
  const kubectl = await ensureBinary('kubectl');
  await execute(kubectl, ['apply', '--kubeconfig', cluster.adminKubeconfig, '-k', overlay]);
}

/** As the DaemonSet of a version that was built. */
async function bring(version: string, change?: (bundle: string) => Promise<void>): Promise<void> {
  const context = join(directory, version);
  await cp(join(ROOT, 'dist/host-bundle'), context, { recursive: true });
  await change?.(context);
  const image = `localhost/slipway-host:${version}`;
  await images.build(image, 'deploy/Containerfile.host', context);
  for (const one of [machine, world.machine]) await images.give(one, image);
  await applyInstaller('deploy/installer', version);
}

/** A build of another version, complete with its digests. */
const asVersion =
  (version: string, program?: string) =>
  async (bundle: string): Promise<void> => {
    await writeFile(join(bundle, 'package.json'), JSON.stringify({ name: 'slipway', version }));
    if (program !== undefined) await writeFile(join(bundle, 'slipway-host.cjs'), program);
    const files = (await readFile(join(bundle, 'files.sha256'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => line.slice(line.indexOf('  ') + 2));
    const digests = await execute('sha256sum', files, { cwd: bundle });
    await writeFile(join(bundle, 'files.sha256'), digests);
  };

async function untilInstalled(version: string): Promise<void> {
  const path = `/var/lib/slipway/host/versions/${version}/slipway`;
  await machineUntil(`${version} is on the machine`, 'test', '-x', path);
}

/** A failure says what the installer has logged. */
async function poll(what: string, holds: () => Promise<boolean>): Promise<void> {
  await eventually(holds, what, PATIENCE_MS).catch(async (error: unknown) => {
    const { out } = await machine.run('sh', '-c', `tail -n 5 ${POD_LOGS}`);
    throw new Error(`${messageOf(error)}\n${out}`);
  });
}

const machineUntil = (what: string, ...command: readonly string[]): Promise<void> =>
  poll(what, async () => (await machine.run(...command)).status === 0);

function ofPool(name: string, parts: HostConfigParts) {
  const config = hostConfig(name, parts);
  return {
    ...config,
    metadata: { name, labels: { 'machineconfiguration.openshift.io/role': POOL } },
  };
}

const target = (): string => observer.record.pool(POOL)?.target ?? '';

/** A failure says what the worker and the installer have logged. */
async function untilSeen(what: string, holds: (node: ObservedNode) => boolean): Promise<void> {
  const seen = (): boolean => {
    const node = observer.record.node(NODE);
    return node !== undefined && holds(node);
  };
  await until(observer.record, `${NODE} ${what}`, seen, PATIENCE_MS).catch(
    async (error: unknown) => {
      const { out } = await machine.run('sh', '-c', `tail -n 5 ${POD_LOGS}`);
      throw new Error(`${messageOf(error)}\n${out}\n${await journalOf(machine)}`);
    },
  );
}

const untilOn = (config: string): Promise<void> =>
  untilSeen(`is on ${config} and in service`, ({ annotations, ready, unschedulable }) => {
    const isDone = annotations[CURRENT_CONFIG] === config && annotations[STATE] === 'Done';
    return isDone && ready && !unschedulable;
  });

/** Returns the rendered config. */
async function roll(name: string, parts: HostConfigParts): Promise<string> {
  const before = target();
  await world.fleet.manifests.applyObject(ofPool(name, parts));
  await until(observer.record, 'the pool has another config', () => target() !== before);
  return target();
}

/** From `slipway get nodes -o wide`. */
async function versionShown(): Promise<string | undefined> {
  const { out } = await world.slipway('get', 'nodes', '--pool', POOL, '-o', 'wide');
  const [header = '', line = ''] = out.split('\n');
  return line.slice(header.indexOf('HOSTWORKER')).split(' ')[0];
}

const untilShown = (version: string): Promise<void> =>
  poll(`slipway get nodes shows ${version}`, async () => (await versionShown()) === version);

test(
  'a machine of a cluster that exists gets it, joins its pool, and is updated by it',
  async () => {
    const { manifests, images: osImages } = world.fleet;
    const namespace = 'slipway-installer';
    await manifests.applyObject({
      ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    });
    await manifests.applyObject({
      ...{
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'slipway-host-secrets', namespace },
      },
      stringData: { 'temporal.key': 'secret of the story' },
    } as object);
    await bring(VERSION);
    await untilInstalled(VERSION);
    await manifests.applyObject({
      ...{ apiVersion: 'slipway.dev/v1alpha1', kind: 'RolloutPolicy', metadata: { name: POOL } },
      ...{ spec: { verify: { readySeconds: 1, reconnectSeconds: 20 } } },
    });
    await manifests.applyObject(ofPool('50-image', { osImageURL: osImages.bare }));
    await manifests.applyFiles('deploy/samples/pool-infra.yaml');
    await until(observer.record, 'the pool is rendered', () => target() !== '');
    await world.api.call('PATCH', `/api/v1/nodes/${NODE}`, { metadata: { labels: LABELS } });
    await untilOn(target());
    const boots = machine.launcher.boots();

    const config = await roll('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] });
    await untilOn(config);

    expect(machine.launcher.boots()).toBe(boots + 1);
    expect(await machine.output('cat', '/etc/story.conf')).toBe('one\n');
    expect(await machine.output('slipway', 'host', 'status')).toContain(config);
    await untilShown(VERSION);
    const key = '/etc/slipway/temporal.key';
    expect(await machine.output('stat', '--format=%a %U', key)).toBe('600 root\n');
    expect(await machine.output('cat', key)).toBe('secret of the story');
  },
  STORY_MS,
);

test(
  'a machine whose image has it is left alone',
  async () => {
    await poll('its pod says so', async () => {
      const { out } = await world.machine.run('sh', '-c', `cat ${POD_LOGS}`);
      return out.includes('the image of the machine has a host worker: nothing to install');
    });

    expect((await world.machine.run('test', '-e', '/var/lib/slipway/host')).status).not.toBe(0);
  },
  STORY_MS,
);

test(
  'another version waits on the machine until an update names it',
  async () => {
    await bring(NEXT, asVersion(NEXT));
    await untilInstalled(NEXT);
    expect(await versionShown()).toBe(VERSION);
    const boots = machine.launcher.boots();

    const config = await roll('50-version', { files: [plainFile(VERSION_FILE, `${NEXT}\n`)] });
    await untilOn(config);

    expect(machine.launcher.boots()).toBe(boots + 1);
    await untilShown(NEXT);
  },
  STORY_MS,
);

test(
  'a version that does not start goes back by itself',
  async () => {
    await bring(BROKEN, asVersion(BROKEN, 'process.exit(1);\n'));
    await untilInstalled(BROKEN);
    const before = target();

    await roll('50-version', { files: [plainFile(VERSION_FILE, `${BROKEN}\n`)] });
    await untilSeen('failed and is in service', ({ annotations, ready, unschedulable }) => {
      const isBack = annotations[CURRENT_CONFIG] === before && annotations[STATE] === 'Degraded';
      return isBack && ready && !unschedulable;
    });
    const reason = observer.record.node(NODE)?.annotations[REASON] ?? '';

    expect(reason).toContain(`version ${BROKEN} of the host worker does not start`);
    expect(await machine.output('cat', VERSION_FILE)).toBe(`${NEXT}\n`);
    expect(await versionShown()).toBe(NEXT);
  },
  STORY_MS,
);

test(
  'it is taken off the machine without a trace',
  async () => {
    await world.atRest(NODE);
    await applyInstaller('deploy/remover', NEXT);
    await machineUntil('it is gone', 'sh', '-c', '! test -e /var/lib/slipway');

    expect(await leftOnMachine(machine, [VERSION_FILE])).toBe('');
    const { out } = await machine.run('systemctl', 'list-unit-files', 'slipway*');
    expect(out).toContain('0 unit files listed');
    expect((await machine.run('systemctl', 'is-active', 'kubelet.service')).out).toBe('active\n');
  },
  STORY_MS,
);
