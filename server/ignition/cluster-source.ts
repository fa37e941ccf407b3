/**
 * First configs from a watched cluster. A request costs no API call: rendered configs are kept, and
 * served while the API server is away.
 */

import { createHash } from 'node:crypto';
import type { CacheView } from '../../adapters/kube/cache';
import type { KubeObject } from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { failureName, messageOf } from '../../core/errors';
import { configsInstead, provedConfigName, servedConfigName } from '../../core/first-boot';
import type { MachineConfig } from '../../core/machine-config/types';
import type { Node } from '../../core/node/types';
import { nodesOfPool } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ReadMachineConfig } from '../ports';
import type { BundleSource } from '../bundles/source';
import { within } from '../within';
import { controllerFacts } from './controller-facts';
import type { FileFacts } from './facts';
import { missing, type ConfigSource, type Look, type ServedConfig } from './source';

type Watched<T> = Pick<CacheView<T>, 'get' | 'isSynced' | 'synced' | 'subscribe'>;

interface ClusterSourceOptions {
  readonly pools: Watched<MachineConfigPool> & Pick<CacheView<MachineConfigPool>, 'list'>;
  readonly controllerConfigs: Watched<KubeObject>;
  /** They show which config was verified. */
  readonly nodes: Pick<CacheView<Node>, 'isSynced' | 'list'>;
  readonly readMachineConfig: ReadMachineConfig;
  readonly facts: () => FileFacts;
  /** Absent = only what the ControllerConfig itself says. */
  readonly bundles?: Pick<BundleSource, 'contents' | 'missing' | 'onChange'>;
  readonly ageSeconds: () => number;
  readonly log: { warn(fields: object, message: string): void };
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
  /** How long a machine waits for the API server, ms. */
  readonly patience?: number;
}

/** Well below the idle timeout. */
const PATIENCE_MS = 5_000;

/** A rendered config never changes, but may be deleted. */
const FRESH_MS = 60_000;

const INSTEAD = 'serving another config: the one of the pool does not exist';

const OLDER = 'serving an older config: the newer one cannot be read';

interface KeptConfig {
  readonly machineConfig: MachineConfig;
  readonly readAt: number;
}

export function createClusterSource(options: ClusterSourceOptions): ConfigSource {
  const { pools, controllerConfigs, nodes, facts, bundles, ageSeconds, log } = options;
  const { patience = PATIENCE_MS } = options;
  const clock = options.clock ?? (() => performance.now());
  const kept = new Map<string, KeptConfig>();
  const underWay = new Map<string, Promise<KeptConfig | undefined>>();
  const replacing = new Map<string, Promise<Look>>();
  /** By pool: the config served while a newer one cannot be read. */
  const last = new Map<
    string,
    { readonly served: ServedConfig; readonly from: readonly unknown[] }
  >();

  /** By pool: the config that a node has verified. */
  const proved = new Map<string, string>();
  const notice = (pool: MachineConfigPool): void => {
    const name = provedConfigName(pool);
    if (name !== undefined) proved.set(pool.metadata.name, name);
  };
  void pools.synced.then(() => pools.list().forEach(notice));
  pools.subscribe(({ type, object }) => {
    if (type === 'deleted') proved.delete(object.metadata.name);
    else notice(object);
  });

  function load(name: string): Promise<KeptConfig | undefined> {
    let loading = underWay.get(name);
    loading ??= options
      .readMachineConfig(name)
      .then((machineConfig) => {
        const entry = machineConfig && { machineConfig, readAt: clock() };
        if (entry === undefined) kept.delete(name);
        else kept.set(name, entry);
        return entry;
      })
      .finally(() => underWay.delete(name));
    underWay.set(name, loading);
    return loading;
  }

  /** From memory, checked again behind the request; otherwise from the API server. */
  function configNamed(name: string): KeptConfig | Promise<KeptConfig | undefined> {
    const known = kept.get(name);
    if (known === undefined) return within(patience, load(name));
    // A failed read keeps what is known.
    if (clock() - known.readAt > FRESH_MS) load(name).catch(() => undefined);
    return known;
  }

  function servedOf(
    pool: string,
    { machineConfig }: KeptConfig,
    instead?: ServedConfig['instead'],
  ): ServedConfig {
    const controllerConfig = controllerConfigs.get(CONTROLLER_CONFIG);
    const fileFacts = facts();
    const contents = bundles?.contents();
    const sources = [machineConfig, controllerConfig, fileFacts, contents];
    const from = [...sources, instead?.of, instead?.because];
    const known = last.get(pool);
    if (known?.from.every((part, index) => part === from[index]) === true) return known.served;
    const { name, uid, resourceVersion } = machineConfig.metadata;
    const all = { ...controllerFacts(controllerConfig, contents), ...fileFacts };
    const key = JSON.stringify([name, uid, resourceVersion, digestOf(all)]);
    if (instead !== undefined) log.warn({ pool, served: name, ...instead }, INSTEAD);
    const substitute = instead === undefined ? {} : { instead };
    const served = { pool, name, key, machineConfig, facts: all, ...substitute };
    last.set(pool, { served, from });
    forgetUnserved();
    return served;
  }

  function forgetUnserved(): void {
    const inUse = new Set([...last.values()].map(({ served }) => served.name));
    for (const name of kept.keys()) if (!inUse.has(name)) kept.delete(name);
  }

  function forget(pool: string): void {
    last.delete(pool);
    forgetUnserved();
  }

  async function find(pool: string, name: string): Promise<Look> {
    try {
      const config = await configNamed(name);
      // The pool may have changed meanwhile.
      if (nameServed(pool) !== name) return look(pool);
      return config === undefined ? await another(pool, name) : { served: servedOf(pool, config) };
    } catch (error) {
      const known = last.get(pool);
      const reason = `config ${name} cannot be read: ${messageOf(error)}`;
      // An older config is served only while the API server is away.
      if (known === undefined || failureName(error) !== 'ApiUnavailable') {
        return missing(503, 'not-ready', reason);
      }
      if (known.served.name !== name) log.warn({ pool, served: known.served.name, reason }, OLDER);
      return { served: known.served };
    }
  }

  /** Machines that join get a working config instead. */
  function another(pool: string, gone: string): Promise<Look> {
    let looking = replacing.get(pool);
    looking ??= findInstead(pool, gone).finally(() => replacing.delete(pool));
    replacing.set(pool, looking);
    return looking;
  }

  async function findInstead(pool: string, gone: string): Promise<Look> {
    if (!nodes.isSynced) return missing(503, 'not-ready', 'the nodes have not been seen yet');
    const object = pools.get(pool);
    const members = object === undefined ? [] : nodesOfPool(object, nodes.list(), pools.list());
    for (const one of object === undefined ? [] : configsInstead(object, members, gone)) {
      const config = await configNamed(one.name);
      if (config === undefined || !isOfPool(pool, config)) continue;
      return { served: servedOf(pool, config, { of: gone, because: one.because }) };
    }
    forget(pool);
    const why = `pool ${pool} is on the config ${gone}, which does not exist`;
    return missing(500, 'no-rendered-config', `${why}, and there is no other`);
  }

  function nameServed(pool: string): string | undefined {
    const object = pools.get(pool);
    return object && servedConfigName(object, proved.get(pool));
  }

  async function look(pool: string): Promise<Look> {
    if (!pools.isSynced || !controllerConfigs.isSynced) {
      return missing(503, 'not-ready', 'the cluster has not been seen yet');
    }
    const unseen = bundles?.missing() ?? [];
    if (unseen.length > 0) {
      return missing(503, 'not-ready', `not seen yet: ${unseen.join(', ')}`);
    }
    const name = nameServed(pool);
    if (name !== undefined) return find(pool, name);
    if (pools.get(pool) !== undefined) {
      return missing(500, 'no-rendered-config', `pool ${pool} has no rendered config yet`);
    }
    forget(pool);
    return missing(500, 'unknown-pool', `there is no pool ${pool}`);
  }

  return {
    ageSeconds,
    look,
    onChange(listener) {
      void Promise.all([pools.synced, controllerConfigs.synced]).then(() => {
        for (const { metadata } of pools.list()) listener(metadata.name);
      });
      pools.subscribe(({ object }) => listener(object.metadata.name));
      const all = (): void => {
        for (const pool of last.keys()) listener(pool);
      };
      controllerConfigs.subscribe(all);
      bundles?.onChange(all);
    },
  };
}

/** A Node may name a config of another pool, with that pool's secrets. */
function isOfPool(pool: string, { machineConfig: { metadata } }: KeptConfig): boolean {
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'MachineConfigPool');
  return owner?.name === pool;
}

function digestOf(value: object): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}
