/** A real API server with the controllers on it. */

import { pino } from 'pino';
import type { CacheEvent } from '../../../adapters/kube/cache';
import { WatchCache } from '../../../adapters/kube/cache';
import type { KubeClient } from '../../../adapters/kube/client';
import {
  EVENTS,
  LEASES,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  type KubeObject,
  type Lease,
  type Resource,
} from '../../../adapters/kube/resources';
import { runControllers, type ControllerParts } from '../../../controllers/main';
import type { ControllerMetrics } from '../../../controllers/metrics';
import type { RolloutGateway } from '../../../controllers/rollout';
import { controllerSettings } from '../../../controllers/settings';
import { decodeDataUrl } from '../../../core/encoding';
import type { IgnitionConfig, MachineConfig } from '../../../core/machine-config/types';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { Condition } from '../../../core/object-meta';
import type { MachineConfigPool } from '../../../core/pool/types';
import { QUIET, takeApiServer, type TestApiServer } from '../crds/api-server';

/** Time limit of every wait. */
const PATIENCE_MS = 30_000;

const ROLE = 'machineconfiguration.openshift.io/role';

/** A Temporal that records its requests, and can be away. */
export class FakeRollouts implements RolloutGateway {
  readonly asked: string[] = [];
  /** Requests while it was away. */
  readonly unanswered: string[] = [];
  readonly open = new Set<string>();
  away = false;
  #listeners = new Set<() => void>();

  async wake(pool: string): Promise<void> {
    this.#ask(`wake ${pool}`);
    this.open.add(pool);
  }

  async isOpen(pool: string): Promise<boolean> {
    this.#ask(`look ${pool}`);
    return this.open.has(pool);
  }

  /** Resolves at a matching request. */
  async until(matches: (asked: string) => boolean): Promise<void> {
    await this.#untilIn(this.asked, matches);
  }

  /** Resolves at a matching request while it is away. */
  async untilUnanswered(matches: (asked: string) => boolean): Promise<void> {
    await this.#untilIn(this.unanswered, matches);
  }

  async #untilIn(list: readonly string[], matches: (asked: string) => boolean): Promise<void> {
    await eventually(
      () => list.some(matches),
      (check) => {
        this.#listeners.add(check);
        return () => this.#listeners.delete(check);
      },
      () => `so far: ${JSON.stringify(list)}`,
    );
  }

  #ask(question: string): void {
    (this.away ? this.unanswered : this.asked).push(question);
    for (const listener of this.#listeners) listener();
    if (this.away) throw new Error('Temporal is away');
  }
}

/** An independent view of the cluster, with its history. */
export class Observer {
  readonly pools: WatchCache<MachineConfigPool>;
  readonly configs: WatchCache<MachineConfig>;
  readonly nodes: WatchCache<MachineConfigNode>;
  readonly events: WatchCache<KubeObject & { reason?: string; message?: string }>;
  readonly leases: WatchCache<Lease>;
  readonly #stop = new AbortController();
  readonly #all: WatchCache<never>[];

  constructor(client: KubeClient) {
    const make = <T extends KubeObject>(resource: Resource<T>): WatchCache<T> =>
      new WatchCache<T>({ resource, log: QUIET });
    this.pools = make(MACHINE_CONFIG_POOLS);
    this.configs = make(MACHINE_CONFIGS);
    this.nodes = make(MACHINE_CONFIG_NODES);
    this.events = make(EVENTS as Resource<KubeObject & { reason?: string; message?: string }>);
    this.leases = make(LEASES);
    this.#all = [
      this.leases,
      this.pools,
      this.configs,
      this.nodes,
      this.events,
    ] as unknown as WatchCache<never>[];
    for (const cache of this.#all) void cache.run(client, this.#stop.signal);
  }

  async ready(): Promise<void> {
    await Promise.all(this.#all.map((cache) => cache.synced));
  }

  stop(): void {
    this.#stop.abort();
  }

  async pool(
    name: string,
    wanted: (pool: MachineConfigPool) => boolean,
  ): Promise<MachineConfigPool> {
    const look = (): MachineConfigPool | undefined => {
      const pool = this.pools.get(name);
      return pool !== undefined && wanted(pool) ? pool : undefined;
    };
    await this.until(
      this.pools,
      () => look() !== undefined,
      () => JSON.stringify(this.pools.get(name), null, 1),
    );
    return look() as MachineConfigPool;
  }

  /** Waits for a condition on one kind of object. */
  async until<T extends KubeObject>(
    cache: WatchCache<T>,
    holds: () => boolean,
    describe: () => string = () =>
      JSON.stringify(cache.list().map(({ metadata }) => metadata.name)),
  ): Promise<void> {
    await eventually(holds, (check) => cache.subscribe(check), describe);
  }

  record<T extends KubeObject>(cache: WatchCache<T>): CacheEvent<T>[] {
    const seen: CacheEvent<T>[] = [];
    cache.subscribe((event) => seen.push(event));
    return seen;
  }

  /** With the config that the pool has now, which its own watch may show later. */
  async countRenders(pool: string): Promise<number> {
    const name = this.pools.get(pool)?.spec.configuration?.name;
    if (name !== undefined) {
      await this.until(this.configs, () => this.configs.get(name) !== undefined);
    }
    return this.renderedFor(pool).length;
  }

  renderedFor(pool: string): readonly MachineConfig[] {
    return this.configs
      .list()
      .filter(({ metadata }) => metadata.name.startsWith(`rendered-${pool}-`));
  }
}

async function eventually(
  holds: () => boolean,
  subscribe: (check: () => void) => () => void,
  describe: () => string,
): Promise<void> {
  if (holds()) return;
  await new Promise<void>((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      unsubscribe();
    };
    const unsubscribe = subscribe(() => {
      if (!holds()) return;
      done();
      resolve();
    });
    const timer = setTimeout(() => {
      done();
      reject(new Error(`did not happen; last seen: ${describe()}`));
    }, PATIENCE_MS);
  });
}

export interface RunningControllers {
  readonly metrics: ControllerMetrics;
  readonly url: string;
  readonly lines: string[];
  stop(): Promise<void>;
  /** Settles when `runControllers` ends by itself. */
  readonly ended: Promise<void>;
}

/** Why the rollout of a pool was woken, by the log. */
export function wokenFor(
  { lines }: Pick<RunningControllers, 'lines'>,
  pool: string,
  sinceLine = 0,
): readonly string[] {
  return lines
    .slice(sinceLine)
    .map((line) => JSON.parse(line) as { msg: string; pool?: string; reason?: string })
    .filter((told) => told.msg === 'woke the rollout' && told.pool === pool)
    .map(({ reason = '' }) => reason);
}

type Started = Parameters<NonNullable<ControllerParts['onStarted']>>[0];

interface ControllersStart {
  /** Absent = the admin's. */
  readonly kubeconfig?: string;
  readonly gateway?: RolloutGateway;
  readonly flags?: Readonly<Record<string, unknown>>;
}

/** Starts the controllers in this process, as `slipway controllers` does. */
export async function startControllers(
  kubeconfig: string,
  options: Omit<ControllersStart, 'kubeconfig'> = {},
): Promise<RunningControllers> {
  const stop = new AbortController();
  const lines: string[] = [];
  const log = pino(
    { level: 'debug', base: {} },
    { write: (line: string) => void lines.push(line) },
  );
  const settings = controllerSettings({ kubeconfig, ...options.flags }, {});
  let ended: Promise<void> = Promise.resolve();
  const { url, metrics } = await new Promise<Started>((resolve, reject) => {
    ended = runControllers(settings, stop.signal, {
      log,
      onStarted: resolve,
      gateway: options.gateway ?? new FakeRollouts(),
    });
    ended.catch(reject);
  });
  return {
    metrics,
    url,
    lines,
    ended,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

/** An API server, an observer and the controllers; they end after the tests of a file. */
interface ControllersFixture {
  readonly api: TestApiServer;
  readonly observer: Observer;
  readonly controllers: RunningControllers;
}

/**
 * Starts one in `beforeAll`; use its parts only in tests.
 *
 * @param prepare - creates what must exist before the controllers, and returns how to start them
 */
export function useControllers(
  prepare?: (api: TestApiServer) => Promise<ControllersStart>,
): ControllersFixture {
  let fixture: ControllersFixture | undefined;
  beforeAll(async () => {
    const api = await takeApiServer();
    const observer = new Observer(api.client);
    await observer.ready();
    try {
      const { kubeconfig = api.kubeconfig, ...options } = (await prepare?.(api)) ?? {};
      fixture = { api, observer, controllers: await startControllers(kubeconfig, options) };
    } catch (error) {
      // Its watches would keep jest from ending.
      observer.stop();
      await api.stop();
      throw error;
    }
  }, 300_000);
  afterAll(async () => {
    await fixture?.controllers.stop();
    fixture?.observer.stop();
    await fixture?.api.stop();
  }, 60_000);
  const started = (): ControllersFixture => {
    if (fixture === undefined) throw new Error('the controllers start in beforeAll');
    return fixture;
  };
  return {
    get api() {
      return started().api;
    },
    get observer() {
      return started().observer;
    },
    get controllers() {
      return started().controllers;
    },
  };
}

export function roleSelector(...roles: readonly string[]) {
  return { matchExpressions: [{ key: ROLE, operator: 'In', values: roles }] };
}

export function aPool(
  name: string,
  spec: Partial<MachineConfigPool['spec']> = {},
): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      machineConfigSelector: roleSelector(name),
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
      ...spec,
    },
  };
}

export function aFile(path: string, text: string, more: object = {}): object {
  return {
    path,
    mode: 420,
    overwrite: true,
    contents: { source: `data:,${encodeURIComponent(text)}` },
    ...more,
  };
}

/** The text of a file in a MachineConfig; empty when it has none. */
export function textOfFile(config: MachineConfig | undefined, path: string): string {
  const files = (config?.spec.config as IgnitionConfig | undefined)?.storage?.files ?? [];
  const decoded = decodeDataUrl(
    files.find((file) => file.path === path)?.contents?.source ?? 'data:,',
  );
  return decoded.error === undefined ? new TextDecoder().decode(decoded.bytes) : '';
}

export function aConfig(
  name: string,
  role: string,
  files: readonly object[] = [],
  more: object = {},
): MachineConfig {
  return withConfig(name, role, { ignition: { version: '3.2.0' }, storage: { files }, ...more });
}

export function withConfig(name: string, role: string, config: unknown): MachineConfig {
  return { metadata: { name, labels: { [ROLE]: role } }, spec: { config } };
}

export function aNode(name: string, roles: readonly string[]): Node & KubeObject {
  return {
    metadata: {
      name,
      labels: Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
    },
  };
}

/** Creates a Node that is Ready, as its kubelet would report it. */
export async function createNode(client: KubeClient, node: Node): Promise<void> {
  const { name } = node.metadata;
  await client.create(NODES, node);
  await client.patch(
    NODES,
    { name, subresource: 'status' },
    {
      status: {
        conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }],
      },
    },
  );
}

export async function putOn(client: KubeClient, name: string, config: string): Promise<void> {
  const prefix = 'machineconfiguration.openshift.io';
  await client.patch(
    NODES,
    { name },
    {
      metadata: {
        annotations: {
          [`${prefix}/currentConfig`]: config,
          [`${prefix}/desiredConfig`]: config,
          [`${prefix}/state`]: 'Done',
          [`${prefix}/reason`]: '',
        },
      },
    },
  );
}

export function condition(pool: MachineConfigPool, type: string): Condition | undefined {
  return pool.status?.conditions?.find((one) => one.type === type);
}

/** The value of a counter or gauge for exactly these labels. */
export async function metric(
  { registry }: ControllerMetrics,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<number> {
  const found = await registry.getSingleMetric(name)?.get();
  const value = found?.values.find((one) =>
    Object.entries(labels).every(([key, wanted]) => one.labels[key] === wanted),
  );
  return value?.value ?? 0;
}
