/** Slipway with real machines: control plane, registry, product and hosts. */

import { join } from 'node:path';
import type { RolloutPolicySpec } from '../../../core/pool/types';
import { ANNOTATION, NodeState } from '../../../core/names';
import type { Cluster } from '../../../tools/cluster';
import { postNodes } from '../../../tools/cluster/nodes';
import { type Manifests, manifestsWith } from '../../../tools/stack/manifests';
import { createProduct, type Product } from '../../../tools/stack/product';
import { renderedConfigOf } from '../../../tools/stack/readiness';
import type { TemporalServer } from '../../../tools/temporal';
import type { Registry } from '../../../tools/registry';
import { repositoryRoot } from '../../../tools/repository-root';
import { execute } from '../execute';
import type { Lifetime } from '../lifetime';
import type { OsVersion } from '../build/images';
import { joinPool, type PointerConfig } from '../machine/join';
import { createMachine, type Machine } from '../machine/machine';
import { CONTROL_PLANE } from '../machine/network';
import { startServers } from './servers';

export const POOL = 'worker';

export interface FleetOptions {
  readonly hosts: number;
  /** Default: one more Node without workloads, so that nodes are drained. */
  readonly alone?: true;
  readonly policy?: RolloutPolicySpec;
  readonly settings?: Readonly<Record<string, string>>;
  /** Of the processes of the cluster. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly temporalUi?: boolean;
  readonly maxUnavailable?: number;
  readonly onStep?: (text: string) => void;
}

export interface Fleet {
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  readonly manifests: Manifests;
  readonly product: Product;
  readonly registry: Registry;
  readonly machines: readonly Machine[];
  /** References with digest. */
  readonly images: Readonly<Record<OsVersion, string>>;
  readonly firstConfig: string;
  readonly pointer: PointerConfig;
  readonly cliEnvironment: Readonly<Record<string, string>>;
}

/** Every kubelet was started; Ready comes a moment later. */
export async function startFleet(lifetime: Lifetime, options: FleetOptions): Promise<Fleet> {
  const step = options.onStep ?? (() => undefined);
  step('starting registry, control plane and Temporal');
  const { temporalUi: ui = false } = options;
  const servers = await startServers(lifetime, { ui, makesPayloadKeys: true });
  const { directory, registry, images, cluster, temporal } = servers;
  step('applying CRDs, roles, pools and base MachineConfigs');
  const manifests = manifestsWith(cluster.adminKubeconfig);
  await applyBase(manifests, images.v1, options);
  const product = await lifetime.own(
    () =>
      createProduct({
        directory: join(directory, 'product'),
        cluster,
        temporal,
        simulation: NO_SIMULATION,
        address: CONTROL_PLANE,
        ...(options.environment === undefined ? {} : { environment: options.environment }),
      }),
    (created) => created.stopAll(),
  );
  await Promise.all([product.start('controllers'), product.start('server')]);
  const firstConfig = await renderedConfigOf(cluster.admin, POOL);

  step(`installing and booting ${options.hosts} hosts`);
  const pointer = await pointerConfig(cluster, product);
  const names = Array.from({ length: options.hosts }, (_, index) => `${POOL}-${index}`);
  await postNodes(
    cluster.admin,
    names.map((name) => nodeSpec(name, firstConfig)),
  );
  if (options.alone !== true) await postNodes(cluster.admin, [ELSEWHERE]);
  const machines: Machine[] = [];
  for (const [index, name] of names.entries()) {
    const machine = await createMachine(lifetime, {
      directory: join(directory, 'machines'),
      name,
      number: index + 1,
      image: images.v1,
      kernelArguments: ['root=/dev/vda', 'ro'],
    });
    await joinPool(machine, {
      cluster,
      pointer,
      host: { ...product, ...(options.settings && { settings: options.settings }) },
    });
    await machine.launcher.powerOn();
    machines.push(machine);
  }
  await product.start('cluster-worker');
  return {
    cluster,
    temporal,
    manifests,
    product,
    registry,
    machines,
    images,
    firstConfig,
    pointer,
    cliEnvironment: {
      KUBECONFIG: cluster.adminKubeconfig,
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    },
  };
}

/** Makes a token. */
async function pointerConfig(cluster: Cluster, product: Product): Promise<PointerConfig> {
  const text = await execute(
    process.execPath,
    [
      ...[join(repositoryRoot(), 'dist/cli/main.js'), 'pointer-config', POOL],
      ...['--server-url', product.ignitionEndpoint, '--ca-file', cluster.caFile, '--ttl', '1h'],
    ],
    { environment: { KUBECONFIG: cluster.adminKubeconfig } },
  );
  return JSON.parse(text) as PointerConfig;
}

/** Has no machine, and is in no pool. */
const ELSEWHERE = {
  name: 'elsewhere',
  taints: [{ key: 'story.example.com/no-machine', effect: 'NoSchedule' as const }],
};

const NO_SIMULATION = {
  stageSeconds: 0,
  applySeconds: 0,
  rebootSeconds: 0,
  jitter: 0,
  failures: [],
};

async function applyBase(
  manifests: Manifests,
  image: string,
  options: FleetOptions,
): Promise<void> {
  await manifests.applyFiles('deploy/crds');
  await manifests.applyFiles(
    ...['deploy/rbac', 'deploy/samples/pool-worker.yaml', 'deploy/samples/pool-master.yaml'],
    ...['tools/stack/manifests/00-worker.yaml', 'tools/stack/manifests/00-master.yaml'],
  );
  await manifests.applyObject(
    object(
      'machineconfiguration.openshift.io/v1',
      'ControllerConfig',
      'machine-config-controller',
      {
        baseOSContainerImage: image,
        releaseImage: 'registry.example.com/release:1.0.0',
      },
    ),
  );
  await manifests.applyObject(
    object('machineconfiguration.openshift.io/v1', 'MachineConfigPool', POOL, {
      maxUnavailable: options.maxUnavailable ?? 1,
      machineConfigSelector: {
        matchLabels: { 'machineconfiguration.openshift.io/role': POOL },
      },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${POOL}`]: '' } },
    }),
  );
  await manifests.applyObject(
    object('slipway.dev/v1alpha1', 'RolloutPolicy', POOL, options.policy ?? {}),
  );
}

function object(apiVersion: string, kind: string, name: string, spec: object) {
  return { apiVersion, kind, metadata: { name }, spec };
}

function nodeSpec(name: string, config: string) {
  return {
    name,
    labels: { [`node-role.kubernetes.io/${POOL}`]: '', 'kubernetes.io/hostname': name },
    annotations: {
      [ANNOTATION.CURRENT_CONFIG]: config,
      [ANNOTATION.DESIRED_CONFIG]: config,
      [ANNOTATION.STATE]: NodeState.DONE,
      [ANNOTATION.REASON]: '',
    },
  };
}
