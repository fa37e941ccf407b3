/**
 * A whole Slipway on one machine: real cluster, real Temporal, every product process with its own
 * least-privilege credentials, simulated hosts.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RolloutPolicySpec } from '../../core/pool/types';
import { ANNOTATION, NodeState } from '../../core/names';
import type { Cluster, NodeSpec } from '../cluster';
import { createNodes, Signer, startCluster } from '../cluster';
import { type InstalledPayloadKeys, newPayloadKeys } from '../payload-keys';
import { adoptDirectory } from '../processes/watchdog';
import type { TemporalServer } from '../temporal';
import { startTemporal } from '../temporal';
import { startTemporalOnPostgres } from '../temporal-postgres';
import type { Manifests } from './manifests';
import { manifestsWith } from './manifests';
import { mountCertificates, type MountedCertificates } from './mounted-certificates';
import type { Product, ProductName, SimulationOptions } from './product';
import { createProduct } from './product';
import { renderedConfigOf } from './readiness';
import type { Workload } from './workloads';
import { workloadObjects } from './workloads';

export interface StackOptions {
  /** By pool name; `master` and `worker` always exist. */
  readonly nodes: Readonly<Record<string, number>>;
  readonly zones: number;
  readonly maxUnavailable: number | string;
  readonly policy: RolloutPolicySpec;
  readonly simulation: SimulationOptions;
  readonly workloads: readonly Workload[];
  readonly temporalUi: boolean;
  /** Workflows survive a restart of Temporal. `postgres` is the server for production on PostgreSQL. */
  readonly temporalDatabase?: boolean | 'postgres';
  readonly audit?: boolean;
  readonly build?: string;
  /** The server has the certificates that the controllers issue. */
  readonly issuedCertificates?: boolean;
  /** False = payloads are readable, and hosts are connected to Temporal itself. */
  readonly encodesPayloads?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly manifests?: readonly string[];
  readonly onStep?: (text: string) => void;
}

export interface Stack {
  readonly directory: string;
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly manifests: Manifests;
  readonly product: Product;
  readonly cliEnvironment: Readonly<Record<string, string>>;
  nodesOf(pool: string): readonly string[];
  /** Its `/`. */
  hostRoot(node: string): string;
  stop(): Promise<void>;
}

/** The rest can then be applied. */
const CRDS = 'deploy/crds';
/** For simulated machines; deploy/samples has no images. */
const BASE = [
  'deploy/rbac',
  'tools/stack/manifests/controller-config.yaml',
  'deploy/samples/pool-master.yaml',
  'deploy/samples/pool-worker.yaml',
  'tools/stack/manifests/00-master.yaml',
  'tools/stack/manifests/00-worker.yaml',
];

/**
 * A kubelet's duration for up to a hundred nodes. With more, renewals are most of the load on the
 * API server.
 */
function leaseSecondsFor(nodes: StackOptions['nodes']): number {
  const count = Object.values(nodes).reduce((sum, ofPool) => sum + ofPool, 0);
  return count <= 100 ? 40 : 320;
}

/** Resolves when the hosts have completed their first boot and workloads are applied. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const step = options.onStep ?? (() => undefined);
  const directory = await mkdtemp(join(tmpdir(), 'slipway-stack-'));
  const disown = adoptDirectory(directory);
  const stops: (() => Promise<void>)[] = [
    async () => {
      await rm(directory, { recursive: true, force: true });
      disown();
    },
  ];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    step('starting etcd, kube-apiserver, controller manager, scheduler, KWOK and Temporal');
    const { audit = false, encodesPayloads = true } = options;
    const payloadKeys = encodesPayloads ? newPayloadKeys(directory) : undefined;
    const leaseSeconds = leaseSecondsFor(options.nodes);
    const starting = [
      startCluster({ audit, leaseSeconds }),
      startTemporalFor(options, payloadKeys),
    ] as const;
    for (const [index, started] of (await Promise.allSettled(starting)).entries()) {
      if (started.status === 'rejected') throw started.reason;
      stops.push(
        index === 0
          ? async () => (await starting[0]).stop()
          : async () => (await starting[1]).stop(),
      );
    }
    const [cluster, temporal] = await Promise.all(starting);
    const mounted =
      options.issuedCertificates === true
        ? mountCertificates(cluster.admin, join(directory, 'mounted'))
        : undefined;
    if (mounted !== undefined) stops.push(() => mounted.stop());
    const stack = await assemble({ ...options, step, directory, cluster, temporal, mounted });
    stops.push(() => stack.product.stopAll());
    return Object.assign(stack, { stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

function startTemporalFor(
  { temporalUi, temporalDatabase = false }: StackOptions,
  payloadKeys: InstalledPayloadKeys | undefined,
): Promise<TemporalServer> {
  if (temporalDatabase === 'postgres') return startTemporalOnPostgres({ payloadKeys });
  return startTemporal({ ui: temporalUi, database: temporalDatabase, payloadKeys });
}

interface Assembly extends StackOptions {
  readonly step: (text: string) => void;
  readonly directory: string;
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly mounted: MountedCertificates | undefined;
}

async function assemble(assembly: Assembly): Promise<Omit<Stack, 'stop'>> {
  const { step, directory, cluster, temporal, mounted } = assembly;
  const manifests = manifestsWith(cluster.adminKubeconfig);
  step('applying CRDs, roles, pools and base MachineConfigs');
  await manifests.applyFiles(CRDS);
  await manifests.applyFiles(...BASE, ...(assembly.manifests ?? []));
  await manifests.applyObject(workerPoolOverride(assembly.maxUnavailable));
  for (const pool of ['master', 'worker']) {
    await manifests.applyObject(rolloutPolicy(pool, assembly.policy));
  }

  const product = await createProduct({
    directory,
    cluster,
    temporal,
    simulation: assembly.simulation,
    ...(assembly.build === undefined ? {} : { build: assembly.build }),
    ...(assembly.environment === undefined ? {} : { environment: assembly.environment }),
    ...(mounted === undefined ? {} : { certificates: mounted.files }),
  });
  try {
    step('starting the controllers and the server; rendering the first configs');
    await Promise.all([
      product.start('controllers'),
      Promise.resolve(mounted?.present).then(() => product.start('server')),
    ]);
    const pools = Object.entries(assembly.nodes).filter(([, count]) => count > 0);
    const configs = new Map<string, string>();
    for (const [pool] of pools) {
      configs.set(pool, await renderedConfigOf(cluster.admin, pool));
    }
    const specs = pools.flatMap(([pool, count]) =>
      nodeSpecs(pool, count, assembly.zones, configs.get(pool) ?? ''),
    );
    step(
      `creating ${specs.length} nodes, signing their certificates, booting their simulated hosts`,
    );
    await createNodes(cluster, specs);
    await bootHosts(assembly, product, specs, configs);
    step('starting the cluster worker');
    await product.start('cluster-worker');
    for (const object of workloadObjects(assembly.workloads)) await manifests.applyObject(object);
  } catch (error) {
    await product.stopAll();
    throw error;
  }
  return {
    directory,
    cluster,
    temporal,
    manifests,
    product,
    get cliEnvironment() {
      return {
        KUBECONFIG: cluster.adminKubeconfig,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
      };
    },
    nodesOf: (pool) => nodeNames(pool, assembly.nodes[pool] ?? 0),
    hostRoot: (node) => product.hostRoot(node),
  };
}

const CONTROL_PLANE = 'control-plane';

/** Above this number the authority signs directly; below, the CSR API, as for real nodes. */
const CSR_API_LIMIT = 30;

async function bootHosts(
  assembly: Assembly,
  product: Product,
  specs: readonly NodeSpec[],
  configs: ReadonlyMap<string, string>,
): Promise<void> {
  const names = specs.map(({ name }) => name);
  await mkdir(product.hostsDirectory, { recursive: true });
  await assembly.cluster.nodeCredentialsBulk(names, {
    signer: names.length > CSR_API_LIMIT ? Signer.AUTHORITY : Signer.CSR_API,
  });
  await product.startHosts(
    [...configs].map(([pool, config]) => ({
      pool,
      nodes: nodeNames(pool, assembly.nodes[pool] ?? 0),
      firstBoot: config,
    })),
  );
}

function nodeNames(pool: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${pool}-${index}`);
}

/** As MCO's first boot leaves a Node. */
function nodeSpecs(
  pool: string,
  count: number,
  zones: number,
  config: string,
): readonly NodeSpec[] {
  return nodeNames(pool, count).map((name, index) => ({
    name,
    labels: {
      [`node-role.kubernetes.io/${roleOf(pool)}`]: '',
      'topology.kubernetes.io/zone': `zone-${'abcdefghij'[index % zones] ?? 'a'}`,
    },
    annotations: {
      [ANNOTATION.CURRENT_CONFIG]: config,
      [ANNOTATION.DESIRED_CONFIG]: config,
      [ANNOTATION.STATE]: NodeState.DONE,
      [ANNOTATION.REASON]: '',
    },
    ...(pool === 'master'
      ? {
          taints: [
            { key: `node-role.kubernetes.io/${CONTROL_PLANE}`, effect: 'NoSchedule' as const },
          ],
        }
      : {}),
  }));
}

function roleOf(pool: string): string {
  return pool === 'master' ? CONTROL_PLANE : pool;
}

function workerPoolOverride(maxUnavailable: number | string) {
  return {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name: 'worker' },
    spec: {
      maxUnavailable,
      machineConfigSelector: {
        matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' },
      },
      nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
    },
  };
}

function rolloutPolicy(pool: string, spec: RolloutPolicySpec) {
  return {
    apiVersion: 'slipway.dev/v1alpha1',
    kind: 'RolloutPolicy',
    metadata: { name: pool },
    spec,
  };
}

export type { ProductName };
