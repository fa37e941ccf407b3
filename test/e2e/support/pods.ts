/**
 * Stands in for the container runtime that the development cluster lacks: KWOK reports pods as running, and this
 * runs their programs. Each Deployment of Slipway becomes one real process of a build, with its command, settings,
 * mounted files and the rights of its ServiceAccount; only ports and addresses differ.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../../tools/cluster';
import { type ManagedProcess, startProcess } from '../../../tools/processes/managed-process';
import { freePorts } from '../../../tools/processes/free-ports';

const NAMESPACE = '/api/v1/namespaces/slipway';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/slipway/deployments';
const HOW_MANY = 3;
/** Interval of checks for the Deployments. */
const LOOK_MS = 500;

interface Deployment {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly [Container];
  readonly volumes?: readonly Volume[];
}

interface Container {
  readonly image: string;
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName: string; readonly optional?: boolean };
  readonly configMap?: { readonly name: string };
}

interface Look {
  readonly cluster: Cluster;
  readonly signal: AbortSignal;
}

interface Data {
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
}

interface Pods {
  readonly images: readonly string[];
  readonly processes: readonly ManagedProcess[];
  readonly hostEndpoint: string;
  /** `host:port` */
  readonly gateway: string;
  /** By which machines trust the server. */
  readonly authorityFile: string;
}

/** Waits until the Deployments are applied, then runs their programs. */
export async function runPods(
  cluster: Cluster,
  { build, directory, signal }: { build: string; directory: string; signal: AbortSignal },
): Promise<Pods> {
  const deployments = await untilApplied(cluster, signal);
  const [controllers = 0, worker = 0, plain = 0, ignition = 0, host = 0, gateway = 0] =
    await freePorts(6);
  const ports: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    controllers: { SLIPWAY_METRICS_PORT: String(controllers) },
    'cluster-worker': { SLIPWAY_METRICS_PORT: String(worker) },
    server: {
      ...{ SLIPWAY_ADDRESS: '127.0.0.1', SLIPWAY_PLAIN_ADDRESS: '127.0.0.1' },
      ...{ SLIPWAY_HOST_PORT: String(host), SLIPWAY_IGNITION_PORT: String(ignition) },
      ...{ SLIPWAY_PLAIN_PORT: String(plain), SLIPWAY_GATEWAY_PORT: String(gateway) },
    },
  };
  const processes = await Promise.all(
    deployments.map(async ({ metadata: { name }, spec }) => {
      const pod = spec.template.spec;
      const [{ command }] = pod.containers;
      const [program = '', ...args] = command;
      const place = join(directory, name);
      return startProcess({
        name,
        command: join(build, 'bin', program),
        args,
        logFile: join(directory, `${name}.log`),
        environment: {
          ...(await environmentOf({ cluster, signal }, pod, place)),
          KUBECONFIG: await kubeconfigOf(cluster, pod.serviceAccountName, place),
          SLIPWAY_METRICS_HOST: '127.0.0.1',
          ...ports[args[0] ?? ''],
        },
      });
    }),
  );
  return {
    images: deployments.map(({ spec }) => spec.template.spec.containers[0].image),
    processes,
    hostEndpoint: `https://localhost:${host}`,
    gateway: `localhost:${gateway}`,
    authorityFile: join(directory, 'slipway-server', 'etc/slipway-server/tls/ca.crt'),
  };
}

async function untilApplied(cluster: Cluster, signal: AbortSignal): Promise<readonly Deployment[]> {
  for (;;) {
    signal.throwIfAborted();
    const list = await cluster.admin.call<{ items: readonly Deployment[] }>('GET', DEPLOYMENTS);
    if (list.items.length === HOW_MANY) return list.items;
    await delay(LOOK_MS);
  }
}

/** Its variables. Mounted files are below `place`, and variables with their paths are changed to match. */
async function environmentOf(
  look: Look,
  { containers: [{ env = [], envFrom = [], volumeMounts = [] }], volumes = [] }: PodSpec,
  place: string,
): Promise<Readonly<Record<string, string>>> {
  const shared = await Promise.all(
    envFrom.map(({ configMapRef }) => read(look, 'configmaps', configMapRef.name)),
  );
  for (const { name, mountPath } of volumeMounts) {
    const volume = volumes.find((one) => one.name === name);
    const mounted = join(place, mountPath);
    mkdirSync(mounted, { recursive: true });
    const mounting = filesOf(look, volume).then((files) => mount(files, mounted));
    // A kubelet brings what is optional when it comes; a test may end before that.
    if (volume?.secret?.optional === true) mounting.catch(() => undefined);
    else await mounting;
  }
  const isMounted = (value: string) =>
    volumeMounts.some(({ mountPath }) => `${value}/`.startsWith(`${mountPath}/`));
  const given = [
    ...shared.flatMap((data) => Object.entries(data)),
    ...env.map(({ name, value }) => [name, value] as const),
  ];
  return Object.fromEntries(
    given.map(([name, value]) => [name, isMounted(value) ? join(place, value) : value]),
  );
}

function mount(files: Readonly<Record<string, string | Buffer>>, directory: string): void {
  for (const [file, contents] of Object.entries(files))
    writeFileSync(join(directory, file), contents, { mode: 0o600 });
}

async function filesOf(
  look: Look,
  volume: Volume | undefined,
): Promise<Readonly<Record<string, string | Buffer>>> {
  if (volume?.configMap !== undefined) return read(look, 'configmaps', volume.configMap.name);
  const data = await read(look, 'secrets', volume?.secret?.secretName ?? '');
  const decoded = Object.entries(data).map(([file, text]) => [file, Buffer.from(text, 'base64')]);
  return Object.fromEntries(decoded) as Readonly<Record<string, Buffer>>;
}

/** Waits until it is there, as a kubelet does before it starts a pod. */
async function read({ cluster, signal }: Look, kind: 'configmaps' | 'secrets', name: string) {
  for (;;) {
    signal.throwIfAborted();
    const { items } = await cluster.admin.call<{ items: readonly Data[] }>(
      'GET',
      `${NAMESPACE}/${kind}`,
    );
    const found = items.find(({ metadata }) => metadata.name === name);
    if (found !== undefined) return found.data;
    await delay(LOOK_MS);
  }
}

/** With a token of the ServiceAccount, as in a pod. */
async function kubeconfigOf(cluster: Cluster, account: string, place: string): Promise<string> {
  const { status } = await cluster.admin.call<{ status: { token: string } }>(
    'POST',
    `${NAMESPACE}/serviceaccounts/${account}/token`,
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  );
  const name = 'pod';
  const config = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [
      { name, cluster: { server: cluster.server, 'certificate-authority': cluster.caFile } },
    ],
    users: [{ name, user: { token: status.token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  };
  mkdirSync(place, { recursive: true });
  const path = join(place, 'kubeconfig');
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
