/** A cluster of machines that somebody else installed, and a person who follows docs/install.md. */

import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KubernetesObject } from '@kubernetes/client-node';
import { parse, stringify } from 'yaml';
import { type Cluster, readCredentials } from '../../../tools/cluster';
import { ensureBinary } from '../../../tools/binaries';
import { repositoryRoot } from '../../../tools/repository-root';
import { manifestsWith } from '../../../tools/stack/manifests';
import type { TemporalServer } from '../../../tools/temporal';
import { readDocumentedPage } from '../../e2e/support/documented-pages';
import { freshClone, pathOfUser, withoutOurs } from '../../e2e/support/fresh-clone';
import { until as eventually } from '../../integration/tools/until';
import { startObserver } from '../../observer/observer';
import type { RolloutRecord } from '../../observer/record';
import { until } from '../../observer/until';
import { execute } from '../execute';
import type { Lifetime } from '../lifetime';
import { joinPool } from '../machine/join';
import { createMachine, type Machine } from '../machine/machine';
import { CONTROL_PLANE } from '../machine/network';
import { REGISTRY } from '../machine/os-registry';
import { BASE, withBase } from './container-images';
import { CONTAINERD_CONFIG } from './containerd';
import { startServers } from './servers';

const ROOT = repositoryRoot();
export const POOL = 'worker';
/** Of Slipway's server, in `/etc/hosts` of each machine: all machines that may run it. */
const SERVER = 'slipway.test';
const NO_POINTER = { ignition: { version: '3.4.0' } };
const PODS_MS = 300_000;

export interface SelfHosted {
  readonly cluster: Cluster;
  readonly machines: readonly Machine[];
  readonly record: RolloutRecord;
  /** The config of the pool. */
  target(): string;
  /** Applies a MachineConfig and rolls it out, as a person does who watches. */
  roll(config: KubernetesObject): Promise<void>;
  kubectl(...args: readonly string[]): Promise<string>;
  slipway(...args: readonly string[]): Promise<string>;
  /** Slipway's pods that are Ready, as `pod on node`. */
  readyPods(): Promise<readonly string[]>;
  /** By docs/uninstall.md. */
  uninstall(): Promise<void>;
}

interface SelfHostedOptions {
  readonly machines: readonly string[];
  /** Of each process, where it differs from the manifests. */
  readonly replicas?: number;
}

/** All of docs/install.md, on machines that boot. */
export async function startSelfHosted(
  lifetime: Lifetime,
  options: SelfHostedOptions,
): Promise<SelfHosted> {
  const { directory, images, cluster, temporal } = await startServers(lifetime, {});
  const place = { cluster, directory, image: images.bare };
  const machines = await bootMachines(lifetime, options.machines, place);
  const person = await lifetime.own(
    () => createPerson(options, { cluster, temporal, directory }),
    (created) => created.leave(),
  );
  await person.follow('docs/install.md');
  // It looks at the kinds that this has installed.
  const { record } = await lifetime.own(
    () =>
      startObserver({
        kubeconfig: cluster.adminKubeconfig,
        nodeSelector: `node-role.kubernetes.io/${POOL}`,
        maxUnavailable: 1,
      }),
    (observer) => observer.stop(),
  );
  const target = (): string => record.pool(POOL)?.target ?? '';
  return {
    ...{ cluster, machines, record, target },
    ...person.tools,
    uninstall: () => person.follow('docs/uninstall.md'),
    roll: async (config) => {
      const before = target();
      await manifestsWith(cluster.adminKubeconfig).applyObject(config);
      await until(record, 'the pool has another config', () => target() !== before);
      await person.tools.slipway('rollout', 'start', POOL, '--watch', '--timeout', '8m');
    },
  };
}

interface Place {
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly directory: string;
}

const CONTROL_PLANE_LABELS = {
  'node-role.kubernetes.io/control-plane': '',
  'node-role.kubernetes.io/master': '',
};

/** Their kubelets register them. */
async function bootMachines(
  lifetime: Lifetime,
  names: readonly string[],
  { image, cluster, directory }: Omit<Place, 'temporal'> & { readonly image: string },
): Promise<readonly Machine[]> {
  const machines: Machine[] = [];
  const hosts = names.map((_, index) => `10.211.0.${11 + index} ${SERVER}\n`).join('');
  for (const [index, name] of names.entries()) {
    const machine = await createMachine(lifetime, {
      directory: join(directory, 'machines'),
      ...{ name, number: index + 1, image },
      kernelArguments: ['root=/dev/vda', 'ro'],
    });
    machines.push(machine);
    const { certificate, key } = await readCredentials(await cluster.nodeCredentials(name));
    await joinPool(machine, {
      ...{ cluster, pointer: NO_POINTER },
      files: {
        '/etc/hosts': hosts,
        // Where kubeadm has it.
        '/var/lib/kubelet/pki/kubelet-client-current.pem': `${certificate}${key}`,
        '/etc/containerd/config.toml': CONTAINERD_CONFIG,
        [`/etc/containerd/certs.d/${REGISTRY}/hosts.toml`]: `[host."http://${REGISTRY}"]\n`,
      },
    });
    await machine.launcher.powerOn();
  }
  for (const name of names.filter((each) => each.startsWith('control-plane'))) {
    const path = `/api/v1/nodes/${name}`;
    const isThere = () =>
      cluster.admin.call('GET', path).then(
        () => true,
        () => false,
      );
    await eventually(isThere, `${name} is registered`, PODS_MS);
    await cluster.admin.call('PATCH', path, { metadata: { labels: CONTROL_PLANE_LABELS } });
  }
  return machines;
}

type Tools = Pick<SelfHosted, 'kubectl' | 'slipway' | 'readyPods'>;

interface Person {
  /** Removes its files. */
  leave(): Promise<void>;
  readonly tools: Tools;
  /** Runs every command of a page, in order, in one shell. @throws Error with the command that failed */
  follow(page: string): Promise<void>;
}

/** With a clone, a shell and the programs of the page. */
async function createPerson(
  { replicas }: SelfHostedOptions,
  { cluster, temporal, directory }: Place,
): Promise<Person> {
  const home = await mkdtemp(join(directory, 'person-'));
  const programs = join(home, 'programs');
  await mkdir(programs, { recursive: true });
  const clone = freshClone(home);
  // Nothing can be downloaded here.
  await cp(join(ROOT, 'node_modules'), join(clone, 'node_modules'), { recursive: true });
  await writeDifferences(clone, { cluster, ...(replicas === undefined ? {} : { replicas }) });
  const kubectl = await ensureBinary('kubectl');
  await symlink(kubectl, join(programs, 'kubectl'));
  await writeFile(join(programs, 'docker'), await dockerStandIn(join(home, 'buildah')), {
    mode: 0o755,
  });
  const environment = {
    PATH: [join(clone, 'bin'), programs, ...pathOfUser()].join(':'),
    KUBECONFIG: cluster.adminKubeconfig,
    // The development server knows no certificates.
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TLS: 'false' },
    TEMPORAL_NAMESPACE: temporal.namespace,
    ...{ REGISTRY, SERVER },
  };
  const shell = (script: string): Promise<string> =>
    execute('env', [...withoutOurs(), 'bash', '-c', script], { cwd: clone, environment });
  return {
    leave: () => rm(home, { recursive: true, force: true }),
    follow: async (page) => {
      const file = join(home, page.replaceAll('/', '-'));
      await writeFile(file, readDocumentedPage(clone, page).wholeScript);
      const started = performance.now();
      await shell(`set -euxo pipefail; . ${file}`);
      const seconds = Math.round((performance.now() - started) / 1000);
      process.stderr.write(`slipway: all commands of ${page}: ${seconds} s\n`);
    },
    tools: {
      kubectl: (...args) => execute(kubectl, args, { environment }),
      slipway: (...args) => execute(join(clone, 'bin/slipway'), args, { environment }),
      readyPods: async () => {
        const { items } = await cluster.admin.call<{ items: readonly Pod[] }>('GET', PODS);
        return items
          .filter(isReady)
          .map(({ metadata, spec }) => `${metadata.name} on ${spec.nodeName}`);
      },
    },
  };
}

/** For `docker build` and `docker push` of the page: buildah, with a base that this machine can make. */
async function dockerStandIn(storageDirectory: string): Promise<string> {
  const { storage } = await withBase(storageDirectory);
  const buildah = ['exec', 'buildah', ...storage].join(' ');
  const build = `--isolation chroot --pull-never --build-arg BASE=${BASE}`;
  return `#!/bin/sh
set -eu
command=$1
shift
case $command in
build) ${buildah} build ${build} "$@" ;;
push) ${buildah} push --tls-verify=false "$@" ;;
esac
`;
}

const PODS = '/api/v1/namespaces/slipway/pods';

interface Pod {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { type: string; status: string }[] };
}

function isReady({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (status.conditions ?? []).some(
    ({ type, status: is }) => type === 'Ready' && is === 'True',
  );
}

/** Pods have no network of their own here, and nothing answers at addresses of Services. */
async function writeDifferences(
  clone: string,
  { cluster, replicas }: { readonly cluster: Cluster; readonly replicas?: number },
): Promise<void> {
  const file = join(clone, 'deploy/kustomization.yaml');
  const kustomization = parse(await readFile(file, 'utf8')) as object;
  const variables = (given: Readonly<Record<string, string>>) =>
    Object.entries(given).map(([name, value]) => ({
      ...{ op: 'add', path: '/spec/template/spec/containers/0/env/-', value: { name, value } },
    }));
  const ofAll = [
    { op: 'add', path: '/spec/template/spec/hostNetwork', value: true },
    ...variables({
      KUBERNETES_SERVICE_HOST: CONTROL_PLANE,
      KUBERNETES_SERVICE_PORT: new URL(cluster.server).port,
    }),
    ...(replicas === undefined ? [] : [{ op: 'add', path: '/spec/replicas', value: replicas }]),
  ];
  // Those of the Service, which would lead to the usual ones.
  const ofServer = variables({
    ...{ SLIPWAY_HOST_PORT: '32624', SLIPWAY_IGNITION_PORT: '32623' },
    SLIPWAY_GATEWAY_PORT: '32625',
  });
  const namespace = 'slipway';
  const patches = [
    { target: { kind: 'Deployment', namespace }, patch: JSON.stringify(ofAll) },
    { target: { kind: 'Deployment', name: 'slipway-server' }, patch: JSON.stringify(ofServer) },
  ];
  await writeFile(file, stringify({ ...kustomization, patches }));
  for (const { patch } of patches) {
    process.stderr.write(`slipway: different from docs/install.md: ${patch}\n`);
  }
}

export async function untilPodsReady({ readyPods }: Tools, count: number): Promise<void> {
  const holds = async () => (await readyPods()).length >= count;
  await eventually(holds, `${count} pods of Slipway are ready`, PODS_MS);
}
