import { WatchCache } from '../adapters/kube/cache';
import type { KubeClient } from '../adapters/kube/client';
import { JoinTokenStore } from '../adapters/kube/join-tokens';
import type { KubeObject, Resource } from '../adapters/kube/resources';
import {
  CONFIG_MAPS,
  CONTROLLER_CONFIGS,
  DAEMON_SETS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  NODES,
  POD_DISRUPTION_BUDGETS,
  PODS,
  POOL_ROLLOUTS,
  ROLLOUT_POLICIES,
} from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import { PoolWriter } from '../adapters/kube/writers';
import { BUNDLE_CONFIG_MAP, BUNDLE_KEY } from '../core/certificates';
import { CONTROLLER_CONFIG, internalHostOf, rootAuthorityOf } from '../core/controller-config';
import { MACHINE_CONFIGURATION, policyInForce, type PolicyInForce } from '../core/disruption';
import { nameOf } from '../core/drain';
import { fail, failureName, messageOf } from '../core/errors';
import { POOL_BOUNDS } from '../core/history/record';
import { withPerson, withWord } from '../core/history/words';
import { ANNOTATION, FIELD_MANAGER, NAMESPACE, ORDER_KEYS_CONFIG_MAP } from '../core/names';
import { clusterOs } from './os/cluster-os';
import type { CliCluster, ClusterView, ServerFacts } from './ports';
import { unlessAbsent } from '../adapters/kube/unless-absent';

/** One redraw for a burst of changes. */
const FOLD_MS = 100;

export function kubeCluster(client: KubeClient, log: Log): CliCluster {
  const list = async <T extends KubeObject>(resource: Resource<T>) =>
    (await client.list(resource)).items;
  const listOwn = async <T extends KubeObject>(resource: Resource<T>) =>
    list(resource).catch((error: unknown) => {
      throw failureName(error) === 'ObjectNotFound' ? notInstalled(error) : error;
    });
  return {
    read: async () => {
      const [pools, nodes, machineConfigNodes, poolRollouts, policies] = await Promise.all([
        listOwn(MACHINE_CONFIG_POOLS),
        list(NODES),
        listOwn(MACHINE_CONFIG_NODES),
        listOwn(POOL_ROLLOUTS),
        listOwn(ROLLOUT_POLICIES),
      ]);
      return {
        ...{ pools, nodes, policies },
        machineConfigNodes: byName(machineConfigNodes),
        poolRollouts: byName(poolRollouts),
      };
    },
    poolNames: async () =>
      (await listOwn(MACHINE_CONFIG_POOLS)).map(({ metadata }) => metadata.name),
    joinTokens: new JoinTokenStore(client, FIELD_MANAGER.CLI),
    os: clusterOs(client),
    serverFacts: () => readServerFacts(client),
    machineConfig: (name) => client.get(MACHINE_CONFIGS, { name }),
    disruptionPolicy: () => clusterDisruptionPolicy(client),
    pods: () => list(PODS),
    budgets: () => list(POD_DISRUPTION_BUDGETS),
    daemonSets: async () => (await list(DAEMON_SETS)).map(nameOf),
    setPaused: async (pool, paused, said) => {
      const annotations = { [ANNOTATION.PAUSED_REASON]: paused ? withPerson(said) : null };
      const word = { kind: paused ? 'pause' : 'resume', ...said } as const;
      const at = new Date().toISOString();
      const writer = new PoolWriter(client, { absorb: () => undefined }, FIELD_MANAGER.CLI);
      await writer.change(pool, async (known) =>
        withWord(known, POOL_BOUNDS, { word, at }, { annotations, paused }),
      );
    },
    follow: (onChange, signal) => follow(client, log, onChange, signal),
  };
}

/** A list of a kind that is not served gets NotFound. */
function notInstalled(cause: unknown): Error {
  return fail(
    'ObjectNotFound',
    `Slipway's CRDs are not installed in this cluster: kubectl apply -f deploy/crds (${messageOf(cause)})`,
  );
}

function byName<T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]));
}

async function clusterDisruptionPolicy(client: KubeClient): Promise<PolicyInForce> {
  const reading = client.get(MACHINE_CONFIGURATIONS, { name: MACHINE_CONFIGURATION });
  return policyInForce(await unlessAbsent(reading));
}

/** The bundle of the server's own authority precedes that of the cluster. */
async function readServerFacts(client: KubeClient): Promise<ServerFacts> {
  const published = (name: string) =>
    unlessAbsent(client.get(CONFIG_MAPS, { namespace: NAMESPACE, name }), [
      'ObjectNotFound',
      'ApiForbidden',
    ]);
  const [config, bundle, keys] = await Promise.all([
    unlessAbsent(client.get(CONTROLLER_CONFIGS, { name: CONTROLLER_CONFIG })),
    published(BUNDLE_CONFIG_MAP),
    published(ORDER_KEYS_CONFIG_MAP),
  ]);
  const serverCa = bundle?.data?.[BUNDLE_KEY];
  const orderKeys = keys?.data?.['keys.json'];
  const rootCa = rootAuthorityOf(config);
  const internalHost = internalHostOf(config);
  return {
    ...(serverCa === undefined ? {} : { serverCa }),
    ...(orderKeys === undefined ? {} : { orderKeys }),
    ...(rootCa === undefined ? {} : { rootCa }),
    ...(internalHost === undefined ? {} : { internalHost }),
  };
}

async function follow(
  client: KubeClient,
  log: Log,
  onChange: (view: ClusterView) => void,
  signal: AbortSignal,
): Promise<void> {
  const pools = new WatchCache({ resource: MACHINE_CONFIG_POOLS, log });
  const nodes = new WatchCache({ resource: NODES, log });
  const machineConfigNodes = new WatchCache({ resource: MACHINE_CONFIG_NODES, log });
  const poolRollouts = new WatchCache({ resource: POOL_ROLLOUTS, log });
  const policies = new WatchCache({ resource: ROLLOUT_POLICIES, log, optional: true });
  const caches = [pools, nodes, machineConfigNodes, poolRollouts, policies];

  let timer: NodeJS.Timeout | undefined;
  const tell = () => {
    timer = undefined;
    if (!caches.every((cache) => cache.isSynced) || signal.aborted) return;
    onChange({
      pools: pools.list(),
      nodes: nodes.list(),
      machineConfigNodes: byName(machineConfigNodes.list()),
      poolRollouts: byName(poolRollouts.list()),
      policies: policies.list(),
    });
  };
  const changed = () => {
    timer ??= setTimeout(tell, FOLD_MS);
  };
  for (const cache of caches) cache.subscribe(changed);
  const runs = caches.map((cache) => cache.run(client, signal));
  void Promise.all(caches.map((cache) => cache.synced)).then(changed);
  await Promise.all(runs);
  clearTimeout(timer);
}
