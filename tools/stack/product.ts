/** The processes of Slipway as a person would run them: the compiled CLI, one child process each. */

import { existsSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Cluster } from '../cluster';
import { freePorts } from '../processes/ports';
import type { ManagedProcess } from '../processes/managed-process';
import { startProcess, waitUntilReady } from '../processes/managed-process';
import { repositoryRoot } from '../repository-root';
import type { TemporalServer } from '../temporal';

/** What a process of simulated hosts logs when it is ready (workers/host-worker.ts). */
const ALL_SERVE = 'all simulated hosts serve their queues';

/** How simulated hosts behave. Durations are seconds. */
export interface SimulationOptions {
  readonly stageSeconds: number;
  readonly applySeconds: number;
  readonly rebootSeconds: number;
  readonly jitter: number;
  /** `node=NAME,at=prepare|apply|verify|boot,times=N` */
  readonly failures: readonly string[];
}

export const PRODUCT_NAMES = ['controllers', 'cluster-worker', 'server'] as const;
export type ProductName = (typeof PRODUCT_NAMES)[number];

/** Simulated hosts of one pool, in one process. */
export interface HostGroup {
  readonly pool: string;
  readonly nodes: readonly string[];
  /** Rendered config that a fresh host boots with. */
  readonly firstBoot: string;
}

export interface Product {
  /** Roots and state of the simulated hosts. */
  readonly hostsDirectory: string;
  /** Base URL of health and metrics. */
  healthUrl(name: ProductName): string;
  hostRoot(node: string): string;
  /** Starts a process (again) and waits until it says that it is ready. */
  start(name: ProductName): Promise<void>;
  startHosts(groups: readonly HostGroup[]): Promise<void>;
  /** Ends a process as a crash does. Hosts: `host-worker/<pool>`. */
  kill(name: string): Promise<void>;
  /** Starts a killed host process again, as systemd would. */
  restartHosts(pool: string): Promise<void>;
  running(): readonly ManagedProcess[];
  logFile(name: string): string;
  stopAll(): Promise<void>;
}

export interface ProductContext {
  readonly directory: string;
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly simulation: SimulationOptions;
}

const READY_TIMEOUT_MS = 120_000;

/** Makes credentials and ports; starts nothing yet. */
export async function createProduct(context: ProductContext): Promise<Product> {
  const { cluster, temporal, directory } = context;
  const [controllersPort = 0, workerPort = 0, serverPort = 0, hostPort = 0] = await freePorts(4);
  const server = await cluster.serverCertificate('slipway-server', ['127.0.0.1', 'localhost']);
  const kubeconfig = {
    controllers: await cluster.kubeconfigFor({ commonName: 'slipway-controllers' }),
    'cluster-worker': await cluster.kubeconfigFor({ commonName: 'slipway-cluster-worker' }),
    server: await cluster.kubeconfigFor({ commonName: 'slipway-server' }),
  };
  const temporalFlags = flags({
    'temporal-address': temporal.address,
    'temporal-namespace': temporal.namespace,
  });
  const argumentsOf: Readonly<Record<ProductName, readonly string[]>> = {
    controllers: [
      ...flags({ kubeconfig: kubeconfig.controllers, 'metrics-port': controllersPort }),
      ...temporalFlags,
    ],
    'cluster-worker': [
      ...flags({ kubeconfig: kubeconfig['cluster-worker'], 'metrics-port': workerPort }),
      ...temporalFlags,
    ],
    server: flags({
      kubeconfig: kubeconfig.server,
      address: '127.0.0.1',
      'host-port': hostPort,
      'plain-address': '127.0.0.1',
      'plain-port': serverPort,
      'certificate-file': server.certFile,
      'key-file': server.keyFile,
      'client-authority-file': cluster.caFile,
    }),
  };
  const ports = { controllers: controllersPort, 'cluster-worker': workerPort, server: serverPort };
  const processes = new Processes(directory);
  const hosts = new Map<string, HostGroup>();
  const healthUrl = (name: ProductName) => `http://127.0.0.1:${ports[name]}`;
  const hostsDirectory = join(directory, 'hosts');

  const startHosts = async (group: HostGroup): Promise<void> => {
    hosts.set(group.pool, group);
    const name = `host-worker/${group.pool}`;
    const place = { serverPort: hostPort, baseDirectory: hostsDirectory };
    const linesBefore = countReadyLines(processes.logFile(name));
    await processes.start(
      name,
      ['host-worker', ...hostFlags(context, group, place), ...temporalFlags],
      () => Promise.resolve(countReadyLines(processes.logFile(name)) > linesBefore),
    );
  };
  return {
    hostsDirectory,
    healthUrl,
    hostRoot: (node) => join(hostsDirectory, node),
    start: (name) =>
      processes.start(name, [name, ...argumentsOf[name]], () =>
        answersOk(`${healthUrl(name)}/readyz`),
      ),
    startHosts: async (groups) => {
      await Promise.all(groups.map(startHosts));
    },
    kill: (name) => processes.kill(name),
    restartHosts: async (pool) => {
      const group = hosts.get(pool);
      if (group === undefined) throw new Error(`no hosts of pool ${pool} were started`);
      await startHosts(group);
    },
    running: () => processes.running(),
    logFile: (name) => processes.logFile(name),
    stopAll: () => processes.stopAll(),
  };
}

function hostFlags(
  { simulation, cluster }: ProductContext,
  group: HostGroup,
  place: { readonly serverPort: number; readonly baseDirectory: string },
): readonly string[] {
  return [
    ...flags({
      nodes: group.nodes.join(','),
      'base-directory': place.baseDirectory,
      'credentials-directory': join(cluster.directory, 'credentials', 'nodes'),
      'authority-file': cluster.caFile,
      'server-url': `https://127.0.0.1:${place.serverPort}`,
      'api-server': cluster.server,
      'first-boot': group.firstBoot,
      'stage-seconds': simulation.stageSeconds,
      'apply-seconds': simulation.applySeconds,
      'reboot-seconds': simulation.rebootSeconds,
      jitter: simulation.jitter,
    }),
    ...simulation.failures.flatMap((failure) => ['--fail', failure]),
  ];
}

/** How often the process has said, in its log so far, that all its hosts are ready. */
function countReadyLines(logFile: string): number {
  if (!existsSync(logFile)) return 0;
  return readFileSync(logFile, 'utf8').split(ALL_SERVE).length - 1;
}

function flags(values: Readonly<Record<string, string | number>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

/** Children by name, each with its own log file. */
class Processes {
  readonly #running = new Map<string, ManagedProcess>();

  constructor(private readonly directory: string) {}

  async start(
    name: string,
    args: readonly string[],
    isReady: () => Promise<boolean>,
  ): Promise<void> {
    const started = await startProcess({
      name,
      command: process.execPath,
      args: [join(repositoryRoot(), 'dist', 'cli', 'main.js'), ...args],
      logFile: this.logFile(name),
    });
    this.#running.set(name, started);
    await waitUntilReady(started, isReady, READY_TIMEOUT_MS);
  }

  logFile(name: string): string {
    return join(this.directory, 'logs', `${name.replaceAll('/', '-')}.log`);
  }

  async kill(name: string): Promise<void> {
    const found = this.#running.get(name);
    if (found === undefined) throw new Error(`${name} does not run`);
    this.#running.delete(name);
    await found.kill();
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
