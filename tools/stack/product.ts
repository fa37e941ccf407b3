/** The processes of Slipway: the compiled CLI, one child process each. */

import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Cluster } from '../cluster';
import { freePorts } from '../processes/free-ports';
import type { ManagedProcess } from '../processes/managed-process';
import { startProcess, waitUntilReady } from '../processes/managed-process';
import { repositoryRoot } from '../repository-root';
import type { TemporalServer } from '../temporal';
import type { ServerCertificates } from './mounted-certificates';
import { installOrderKey } from './order-key';
import { withoutSettings } from './person-settings';

/** workers/host/worker.ts logs this line. */
const ALL_SERVE = 'all simulated hosts serve their queues';

/** Durations in seconds. */
export interface SimulationOptions {
  readonly stageSeconds: number;
  readonly applySeconds: number;
  /** Of reloads and restarts together. */
  readonly serviceSeconds?: number;
  readonly rebootSeconds: number;
  readonly jitter: number;
  /** `node=NAME,at=prepare|apply|verify|boot,times=N` */
  readonly failures: readonly string[];
}

export const PRODUCT_NAMES = ['controllers', 'cluster-worker', 'server'] as const;
export type ProductName = (typeof PRODUCT_NAMES)[number];

interface HostGroup {
  readonly pool: string;
  readonly nodes: readonly string[];
  readonly firstBoot: string;
}

/** Of a server, for hosts. */
export interface HostServer {
  readonly hostEndpoint: string;
  /** Where they find Temporal. */
  readonly gatewayAddress: string;
}

export interface Product extends HostServer {
  readonly hostsDirectory: string;
  /** By which hosts know orders: `/etc/slipway/order-keys.json`. */
  readonly orderKeys: string;
  readonly secondServer: HostServer;
  /** Of first configs, for new machines. */
  readonly ignitionEndpoint: string;
  healthUrl(name: ProductName): string;
  hostRoot(node: string): string;
  /** Running processes stay. */
  useBuild(directory: string): void;
  /** Waits until the process is ready. */
  start(name: ProductName, options?: { readonly environment?: Environment }): Promise<void>;
  startHosts(groups: readonly HostGroup[]): Promise<void>;
  /**
   * Beside the first, or in place of a killed one.
   *
   * @returns its name, for `kill` and `logFile`
   */
  startSecond(name: ProductName): Promise<string>;
  /** As a crash does. Hosts: `host-worker/<pool>`. */
  kill(name: string): Promise<void>;
  end(name: string): Promise<void>;
  /** @throws Error when the process does not run */
  pid(name: string): number;
  /** As systemd would. */
  restartHosts(pool: string, options?: HostProcessOptions): Promise<void>;
  /** For the same machines; resolves when it is ready. @returns its name */
  startSecondHosts(pool: string, options?: Pick<HostProcessOptions, 'server'>): Promise<string>;
  running(): readonly ManagedProcess[];
  logFile(name: string): string;
  stopAll(): Promise<void>;
}

type Environment = Readonly<Record<string, string>>;

interface HostProcessOptions {
  /** Added to its environment. */
  readonly environment?: Environment;
  /** Default: the first. */
  readonly server?: HostServer;
}

interface ProductContext {
  readonly directory: string;
  readonly cluster: Cluster;
  /** With keys of payloads, hosts reach it through the gateway. */
  readonly temporal: TemporalServer;
  readonly simulation: SimulationOptions;
  /** Of the server, for hosts; loopback unless they have their own network. */
  readonly address?: string;
  /** With `dist/cli/main.js` in it; default: this checkout. */
  readonly build?: string;
  readonly environment?: Environment;
  /** Absent: of the authority of the cluster. */
  readonly certificates?: ServerCertificates;
}

const READY_TIMEOUT_MS = 120_000;
/** Per host, in a process with thousands. */
const HOST_READY_MS = 200;

export async function createProduct(context: ProductContext): Promise<Product> {
  const { cluster, temporal, directory } = context;
  const [controllersPort = 0, workerPort = 0, serverPort = 0, hostPort = 0, ignitionPort = 0] =
    await freePorts(5);
  const second = await freePorts(5);
  const gatewayPorts = await freePorts(2);
  const { address = '127.0.0.1' } = context;
  const { payloadKeys } = temporal;
  const names = [...new Set(['127.0.0.1', 'localhost', address])];
  const certificates = context.certificates ?? (await ofCluster(cluster, names));
  const orderKeys = await installOrderKey(cluster.admin, directory);
  await payloadKeys?.storeIn(cluster.admin);
  const kubeconfig = {
    controllers: await cluster.kubeconfigFor({ commonName: 'slipway-controllers' }),
    'cluster-worker': await cluster.kubeconfigFor({ commonName: 'slipway-cluster-worker' }),
    server: await cluster.kubeconfigFor({ commonName: 'slipway-server' }),
  };
  const serverAt = (port = 0, gatewayPort = 0): HostServer => ({
    hostEndpoint: `https://${address}:${port}`,
    gatewayAddress: `${address}:${gatewayPort}`,
  });
  const keyFlags =
    payloadKeys === undefined ? [] : flags({ 'payload-keys': payloadKeys.directory });
  const argumentsOf = (
    name: ProductName,
    port: number,
    endpoints: readonly number[] = [hostPort, ignitionPort, ...gatewayPorts.slice(0, 1)],
  ): readonly string[] => {
    const common = { kubeconfig: kubeconfig[name] };
    if (name !== 'server') {
      const own = name === 'controllers' ? { 'server-names': names.join(',') } : {};
      return [
        ...flags({ ...common, ...own, 'metrics-port': port }),
        ...[...temporalFlags(temporal), ...keyFlags],
      ];
    }
    const gateway = payloadKeys === undefined ? [] : [...temporalFlags(temporal), ...keyFlags];
    const served = flags({
      ...common,
      address,
      'host-port': endpoints[0] ?? 0,
      'ignition-port': endpoints[1] ?? 0,
      'plain-address': '127.0.0.1',
      'plain-port': port,
      'certificate-file': certificates.certificateFile,
      'key-file': certificates.keyFile,
      'client-authority-file': certificates.clientAuthorityFile,
      'authority-file': certificates.ownAuthorityFile,
      'gateway-port': endpoints[2] ?? 0,
    });
    return [...served, ...gateway];
  };
  const ports = { controllers: controllersPort, 'cluster-worker': workerPort, server: serverPort };
  const processes = new Processes(
    directory,
    context.build ?? repositoryRoot(),
    context.environment ?? {},
  );
  const hosts = new Map<string, HostGroup>();
  const healthUrl = (name: ProductName) => `http://127.0.0.1:${ports[name]}`;
  const hostsDirectory = join(directory, 'hosts');
  const firstServer = serverAt(hostPort, gatewayPorts[0]);
  const ignitionEndpoint = `https://${address}:${ignitionPort}`;
  const hostPlace = {
    baseDirectory: hostsDirectory,
    hostAuthorityFile: certificates.hostAuthorityFile,
    orderKeysFile: orderKeys.file,
  };
  const endpointsOfSecond = [...second.slice(PRODUCT_NAMES.length), ...gatewayPorts.slice(1)];

  const startHosts = async (
    group: HostGroup,
    { environment = {}, server = firstServer }: HostProcessOptions = {},
  ): Promise<void> => {
    hosts.set(group.pool, group);
    const name = `host-worker/${group.pool}`;
    const place = { ...hostPlace, server };
    const linesBefore = countReadyLines(processes.logFile(name));
    await processes.start(
      name,
      ['host-worker', ...hostFlags(context, group, place)],
      () => Promise.resolve(countReadyLines(processes.logFile(name)) > linesBefore),
      { environment, timeoutMs: READY_TIMEOUT_MS + HOST_READY_MS * group.nodes.length },
    );
  };
  const groupOf = (pool: string): HostGroup => {
    const group = hosts.get(pool);
    if (group === undefined) throw new Error(`no hosts of pool ${pool} were started`);
    return group;
  };
  return {
    hostsDirectory,
    orderKeys: orderKeys.text,
    ...firstServer,
    secondServer: serverAt(endpointsOfSecond[0], gatewayPorts[1]),
    ignitionEndpoint,
    healthUrl,
    hostRoot: (node) => join(hostsDirectory, node),
    useBuild: (build) => {
      processes.build = build;
    },
    start: (name, { environment = {} } = {}) =>
      processes.start(
        name,
        [name, ...argumentsOf(name, ports[name])],
        () => answersOk(`${healthUrl(name)}/readyz`),
        { environment },
      ),
    startSecond: async (name) => {
      const port = second[PRODUCT_NAMES.indexOf(name)] ?? 0;
      await processes.start(
        `${name}-2`,
        [name, ...argumentsOf(name, port, endpointsOfSecond)],
        () => answersOk(`http://127.0.0.1:${port}/healthz`),
      );
      return `${name}-2`;
    },
    startSecondHosts: async (pool, { server = firstServer } = {}) => {
      const name = `host-worker/${pool}-2`;
      const args = hostFlags(context, groupOf(pool), { ...hostPlace, server });
      await processes.start(name, ['host-worker', ...args], () =>
        Promise.resolve(existsSync(processes.logFile(name))),
      );
      return name;
    },
    startHosts: async (groups) => {
      await Promise.all(groups.map((group) => startHosts(group)));
    },
    kill: (name) => processes.kill(name),
    end: (name) => processes.end(name),
    pid: (name) => processes.found(name).pid,
    restartHosts: (pool, options) => startHosts(groupOf(pool), options),
    running: () => processes.running(),
    logFile: (name) => processes.logFile(name),
    stopAll: () => processes.stopAll(),
  };
}

function hostFlags(
  { simulation, cluster, temporal }: ProductContext,
  group: HostGroup,
  place: {
    readonly server: HostServer;
    readonly baseDirectory: string;
    readonly hostAuthorityFile: string;
    readonly orderKeysFile: string;
  },
): readonly string[] {
  return [
    ...flags({
      nodes: group.nodes.join(','),
      'base-directory': place.baseDirectory,
      'credentials-directory': join(cluster.directory, 'credentials', 'nodes'),
      'authority-file': place.hostAuthorityFile,
      'api-server-authority-file': cluster.caFile,
      'order-keys-file': place.orderKeysFile,
      'server-url': place.server.hostEndpoint,
      'api-server': cluster.server,
      'first-boot': group.firstBoot,
      'stage-seconds': simulation.stageSeconds,
      'apply-seconds': simulation.applySeconds,
      ...(simulation.serviceSeconds === undefined
        ? {}
        : { 'service-seconds': simulation.serviceSeconds }),
      'reboot-seconds': simulation.rebootSeconds,
      jitter: simulation.jitter,
    }),
    ...simulation.failures.flatMap((failure) => ['--fail', failure]),
    ...(temporal.payloadKeys === undefined
      ? temporalFlags(temporal)
      : flags({
          'gateway-address': place.server.gatewayAddress,
          'temporal-namespace': temporal.namespace,
        })),
  ];
}

/** The address changes when Temporal moves. */
function temporalFlags({ address, namespace }: TemporalServer): readonly string[] {
  return flags({ 'temporal-address': address, 'temporal-namespace': namespace });
}

async function ofCluster(cluster: Cluster, names: readonly string[]): Promise<ServerCertificates> {
  const { certFile, keyFile } = await cluster.serverCertificate('slipway-server', names);
  return {
    ...{ certificateFile: certFile, keyFile },
    clientAuthorityFile: cluster.caFile,
    ownAuthorityFile: cluster.caFile,
    hostAuthorityFile: cluster.caFile,
  };
}

/** How often the log reports that all hosts are ready. */
function countReadyLines(logFile: string): number {
  if (!existsSync(logFile)) return 0;
  return readFileSync(logFile, 'utf8').split(ALL_SERVE).length - 1;
}

function flags(values: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** As set in deploy/. */
const AS_DEPLOYED: Environment = { MALLOC_ARENA_MAX: '2' };

interface StartOptions {
  readonly environment?: Environment;
  readonly timeoutMs?: number;
}

/** Each with its own log file. */
class Processes {
  readonly #running = new Map<string, ManagedProcess>();

  constructor(
    private readonly directory: string,
    public build: string,
    private readonly ofAll: Environment,
  ) {}

  async start(
    name: string,
    args: readonly string[],
    isReady: () => Promise<boolean>,
    { environment = {}, timeoutMs = READY_TIMEOUT_MS }: StartOptions = {},
  ): Promise<void> {
    const started = await startProcess({
      environment: { ...withoutSettings(), ...AS_DEPLOYED, ...this.ofAll, ...environment },
      name,
      command: process.execPath,
      args: [join(this.build, 'dist', 'cli', 'main.js'), ...args],
      logFile: this.logFile(name),
    });
    this.#running.set(name, started);
    await waitUntilReady(started, isReady, timeoutMs);
  }

  logFile(name: string): string {
    return join(this.directory, 'logs', `${name.replaceAll('/', '-')}.log`);
  }

  found(name: string): ManagedProcess {
    const found = this.#running.get(name);
    if (found === undefined) throw new Error(`${name} does not run`);
    return found;
  }

  async kill(name: string): Promise<void> {
    const found = this.found(name);
    this.#running.delete(name);
    await found.kill();
  }

  async end(name: string): Promise<void> {
    const found = this.found(name);
    this.#running.delete(name);
    await found.stop();
  }

  running(): readonly ManagedProcess[] {
    return [...this.#running.values()];
  }

  async stopAll(): Promise<void> {
    const all = this.running();
    this.#running.clear();
    await Promise.all(all.map((one) => one.stop()));
  }
}

function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    get(url, (reply) => {
      reply.resume();
      resolve(reply.statusCode === 200);
    }).once('error', reject);
  });
}
