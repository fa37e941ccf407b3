/** The image of the control plane: built twice, started as its manifests say, and all of it in a rollout. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { repositoryRoot } from '../../tools/repository-root';
import { freePorts } from '../../tools/processes/free-ports';
import { waitUntilReady } from '../../tools/processes/managed-process';
import { adoptDirectory } from '../../tools/processes/watchdog';
import { machineConfig } from './support/configs';
import {
  Containers,
  requireContainerTools,
  type ContainerProcess,
  type Image,
} from './support/container';
import { START_MS, startWorld, STOP_MS, STORY_MS, type World } from './support/world';

const ROOT = repositoryRoot();
const BASE = 'localhost/slipway-base';
const IMAGE = 'localhost/slipway';
const PROGRAMS = ['readlink', 'dirname', 'setpriv', 'env'].map((name) => `/usr/bin/${name}`);
const READY_MS = 60_000;

let directory: string;
let disown: () => void;
let containers: Containers;
let images: readonly Image[];
let world: World;

beforeAll(async () => {
  requireContainerTools();
  directory = await mkdtemp(join(tmpdir(), 'slipway-image-'));
  disown = adoptDirectory(directory);
  containers = new Containers(directory);
  images = [];
  for (const tree of ['one', 'two']) {
    execFileSync(process.execPath, [
      join(ROOT, 'tools/setup/image-tree.mjs'),
      join(directory, tree),
    ]);
    if (images.length === 0) {
      const native = nativeModulesIn(join(directory, tree));
      await containers.base(BASE, { native, programs: PROGRAMS });
    }
    const built = await containers.build(
      join(ROOT, 'deploy/Containerfile'),
      join(directory, tree),
      IMAGE,
      BASE,
    );
    images = [...images, built];
  }
  world = await startWorld({
    nodes: { master: 1, worker: 3 },
    maxUnavailable: 1,
    workloads: [],
    build: join(directory, 'one'),
  });
}, START_MS + 300_000);

function nativeModulesIn(tree: string): readonly string[] {
  const releases = join(tree, 'node_modules/@temporalio/core-bridge/releases');
  return readdirSync(releases).map((target) => join(releases, target, 'index.node'));
}

afterAll(async () => {
  await containers?.stop();
  await world?.stop();
  await rm(directory, { recursive: true, force: true });
  disown();
}, STOP_MS);

it('is the same each time that it is built', () => {
  const [one, two] = images;

  expect(one?.digest).toMatch(/^sha256:/);
  expect(two?.digest).toBe(one?.digest);
  process.stderr.write(`the image with this machine's Node: ${one?.mebibytes} MB\n`);
});

it('lists what is in it', () => {
  const { packages } = JSON.parse(readFileSync(join(directory, 'one/sbom.spdx.json'), 'utf8')) as {
    readonly packages: readonly { readonly name: string; readonly licenseDeclared: string }[];
  };

  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['slipway', '@temporalio/worker', '@kubernetes/client-node', 'zod']),
  );
  expect(packages.filter(({ licenseDeclared }) => licenseDeclared === 'NOASSERTION')).toEqual([]);
});

it('that brings the host worker onto machines is the same each time, too, and lists what is in it', async () => {
  const bundle = join(ROOT, 'dist/host-bundle');
  const build = async (name: string): Promise<Image> => {
    execFileSync(process.execPath, [join(ROOT, 'tools/setup/host-bundle.mjs')]);
    return containers.build(join(ROOT, 'deploy/Containerfile.host'), bundle, name, BASE);
  };
  const [one, two] = [await build('localhost/host:1'), await build('localhost/host:2')];

  expect(two.digest).toBe(one.digest);
  process.stderr.write(
    `the image of the host worker with this machine's Node: ${one.mebibytes} MB\n`,
  );
  const { packages } = JSON.parse(readFileSync(join(bundle, 'sbom.spdx.json'), 'utf8')) as {
    readonly packages: readonly { readonly name: string }[];
  };
  expect(packages.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['@temporalio/worker', '@temporalio/core-bridge']),
  );
}, 300_000);

it(
  'rolls a pool with nothing but what is in it',
  async () => {
    const config = await world.roll(machineConfig('50-image', { kernelArguments: ['nosmt'] }));

    await world.allUpdatedTo(config);
    expect(world.record.violations).toEqual([]);
  },
  STORY_MS,
);

interface Manifest {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean };
        readonly containers: readonly [
          {
            readonly command: readonly string[];
            readonly securityContext: {
              readonly readOnlyRootFilesystem: boolean;
              readonly allowPrivilegeEscalation: boolean;
              readonly capabilities: { readonly drop: readonly string[] };
            };
          },
        ];
      };
    };
  };
}

function deploymentOf(name: string): Manifest {
  const text = readFileSync(join(ROOT, 'deploy/base', `${name}.yaml`), 'utf8');
  const found = parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest)
    .find(({ kind }) => kind === 'Deployment');
  if (found === undefined) throw new Error(`deploy/base/${name}.yaml has no Deployment`);
  return found;
}

/** As files of a Secret or a ConfigMap in a pod. */
async function readableByAll(to: string, files: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(to, { mode: 0o755 });
  for (const [name, from] of Object.entries(files)) {
    await copyFile(from, join(to, name));
    await chmod(join(to, name), 0o644);
  }
  return to;
}

it.each(['controllers', 'cluster-worker', 'server'] as const)(
  'runs %s as its Deployment does: no root, no capability, nothing to write to',
  async (name) => {
    const { spec } = deploymentOf(name).spec.template;
    const {
      securityContext: pod,
      containers: [container],
    } = spec;
    expect(container.securityContext.capabilities.drop).toEqual(['ALL']);
    const { cluster, temporal } = world.stack;
    const [plain = 0, hosts = 0, ignition = 0, gateway = 0] = await freePorts(4);
    const { certFile, keyFile } = await cluster.serverCertificate('slipway-server', ['127.0.0.1']);
    const files = {
      kubeconfig: await cluster.kubeconfigFor({ commonName: `slipway-${name}` }),
      ...{ 'tls.crt': certFile, 'tls.key': keyFile, 'ca.crt': cluster.caFile },
    };
    const mounted = await readableByAll(join(directory, `files-of-${name}`), files);
    const keys = temporal.payloadKeys?.directory ?? '';
    const ids = readdirSync(keys).map((id) => [id, join(keys, id)] as const);
    await readableByAll(join(mounted, 'payload-keys'), Object.fromEntries(ids));
    const process: ContainerProcess = {
      args: container.command,
      env: {
        PATH: '/opt/slipway/bin:/usr/local/bin:/usr/bin:/bin',
        KUBECONFIG: '/mnt/kubeconfig',
        SLIPWAY_METRICS_PORT: String(plain),
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        SLIPWAY_PAYLOAD_KEYS: '/mnt/payload-keys',
        ...(name === 'server'
          ? {
              SLIPWAY_PLAIN_PORT: String(plain),
              SLIPWAY_HOST_PORT: String(hosts),
              SLIPWAY_IGNITION_PORT: String(ignition),
              SLIPWAY_GATEWAY_PORT: String(gateway),
              SLIPWAY_CERTIFICATE_FILE: '/mnt/tls.crt',
              SLIPWAY_KEY_FILE: '/mnt/tls.key',
              SLIPWAY_CLIENT_AUTHORITY_FILE: '/mnt/ca.crt',
            }
          : {}),
      },
      user: pod.runAsUser,
      readOnly: container.securityContext.readOnlyRootFilesystem,
      allowsEscalation: container.securityContext.allowPrivilegeEscalation,
      mounted,
    };
    const running = await containers.start(await containers.rootOf(IMAGE), process);

    const isReady = async (): Promise<boolean> =>
      (await fetch(`http://127.0.0.1:${plain}/readyz`)).ok;
    await waitUntilReady(running, isReady, READY_MS);
    expect(readFileSync(running.logFile, 'utf8')).not.toMatch(/EROFS|EACCES|EPERM/);
  },
  STORY_MS,
);
