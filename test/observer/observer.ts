/**
 * An independent observer of a cluster: its own watches with the plain Kubernetes client, none of
 * the product's adapters.
 */

import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { KubeConfig } from '@kubernetes/client-node';
import { follow } from './follow';
import type {
  NodeSelector,
  ObservedNode,
  ObservedPod,
  ObservedRollout,
  ObservedStatus,
} from './observed';
import type { Limits } from './record';
import { RolloutRecord } from './record';
import { BLIND_MS, Sight } from './sight';

interface ObserverOptions extends Limits {
  readonly kubeconfig: string;
  /** A label selector, e.g. `node-role.kubernetes.io/worker`. */
  readonly nodeSelector: string;
}

export interface Observer {
  readonly record: RolloutRecord;
  /** Of its watches. Judges of the record ask them, too. */
  readonly sights: readonly Sight[];
  stop(): void;
}

const POOL_ROLLOUTS = '/apis/slipway.dev/v1alpha1/poolrollouts';
const MACHINE_CONFIGURATION = '/apis/machineconfiguration.openshift.io/v1';

/** Resolves once all that it watches is known. */
export async function startObserver(options: ObserverOptions): Promise<Observer> {
  const config = new KubeConfig();
  config.loadFromFile(options.kubeconfig);
  const record = new RolloutRecord(options);
  const sights: Sight[] = [];
  const sightOf = (what: string): Sight => {
    const sight = sightInto(record, `the API server's ${what}`);
    sights.push(sight);
    return sight;
  };
  const followed = await Promise.all([
    follow<V1Node>(config, {
      path: '/api/v1/nodes',
      sight: sightOf('nodes'),
      labelSelector: options.nodeSelector,
      seen: (node) => record.nodeSeen(observedNode(node), Date.now()),
      gone: (node) => record.nodeGone(node.metadata?.name ?? ''),
    }),
    follow<V1Pod>(config, {
      path: '/api/v1/pods',
      sight: sightOf('pods'),
      labelSelector: 'app',
      seen: (pod) => record.podSeen(podKey(pod), observedPod(pod)),
      gone: (pod, missed) => {
        // A pod that goes at once is never seen terminating.
        if (!missed) record.podSeen(podKey(pod), removedPod(pod));
        record.podGone(podKey(pod));
      },
    }),
    follow<PoolObject>(config, {
      path: `${MACHINE_CONFIGURATION}/machineconfigpools`,
      sight: sightOf('pools'),
      seen: (pool) => record.poolSeen(observedPool(pool)),
      gone: ({ metadata }) => record.poolGone(metadata.name),
    }),
    follow<MachineConfigNodeObject>(config, {
      path: `${MACHINE_CONFIGURATION}/machineconfignodes`,
      sight: sightOf('MachineConfigNodes'),
      seen: (node) => record.machineConfigNodeSeen(observedMachineConfigNode(node)),
      gone: ({ metadata }) => record.machineConfigNodeGone(metadata.name),
    }),
    follow<PoolRolloutObject>(config, {
      path: POOL_ROLLOUTS,
      sight: sightOf('PoolRollouts'),
      seen: (rollout) => record.rolloutSeen(observedRollout(rollout), Date.now()),
      gone: ({ metadata }) => record.rolloutGone(metadata.name),
    }),
  ]);
  return {
    record,
    sights,
    stop: () => {
      for (const one of followed) one.stop();
    },
  };
}

/** Reports a place without a look for too long. */
export function sightInto(record: RolloutRecord, place: string): Sight {
  return new Sight(place, performance.now(), () => {
    const text = `for over ${BLIND_MS / 60_000} minutes it could not be looked at`;
    record.report('observer', place, text);
  });
}

function observedNode(node: V1Node): ObservedNode {
  return {
    name: node.metadata?.name ?? '',
    resourceVersion: node.metadata?.resourceVersion ?? '',
    unschedulable: node.spec?.unschedulable === true,
    cordonAppliedBy: cordonAppliedBy(node),
    ready: isTrue(node.status?.conditions, 'Ready'),
    bootID: node.status?.nodeInfo?.bootID ?? '',
    labels: node.metadata?.labels ?? {},
    annotations: node.metadata?.annotations ?? {},
    taints: (node.spec?.taints ?? []).map(({ key }) => key),
  };
}

/** Without Slipway's own cordon, which is not applied. */
function cordonAppliedBy({ metadata }: V1Node): readonly string[] {
  return (metadata?.managedFields ?? []).flatMap(({ manager, operation, fieldsV1 }) => {
    const { 'f:spec': spec } = (fieldsV1 ?? {}) as { readonly 'f:spec'?: object };
    const isCordon = operation === 'Apply' && spec !== undefined && 'f:unschedulable' in spec;
    return isCordon ? [manager ?? ''] : [];
  });
}

function podKey(pod: V1Pod): string {
  return `${pod.metadata?.namespace}/${pod.metadata?.name}`;
}

function observedPod(pod: V1Pod): ObservedPod {
  const terminating = pod.metadata?.deletionTimestamp != null;
  const disruption = pod.status?.conditions?.find(
    (condition) => condition.type === 'DisruptionTarget' && condition.status === 'True',
  )?.reason;
  return {
    name: podKey(pod),
    app: pod.metadata?.labels?.['app'] ?? '',
    node: pod.spec?.nodeName ?? '',
    ready: isTrue(pod.status?.conditions, 'Ready') && !terminating,
    terminating,
    ...(disruption === undefined ? {} : { disruption }),
  };
}

function removedPod(pod: V1Pod): ObservedPod {
  return { ...observedPod(pod), ready: false, terminating: true };
}

interface WithConditions {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly status?: {
    readonly configuration?: { readonly name?: string };
    readonly configVersion?: { readonly current?: string };
    readonly [count: `${string}achineCount`]: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}

interface PoolObject extends WithConditions {
  readonly spec: {
    readonly paused?: boolean;
    readonly configuration?: { readonly name?: string };
    readonly nodeSelector?: NodeSelector;
  };
}

interface MachineConfigNodeObject extends WithConditions {
  readonly spec: { readonly configVersion?: { readonly desired?: string } };
}

function observedPool(pool: PoolObject): ObservedStatus {
  const { nodeSelector } = pool.spec;
  return {
    name: pool.metadata.name,
    target: pool.spec.configuration?.name ?? '',
    current: pool.status?.configuration?.name ?? '',
    paused: pool.spec.paused === true,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...commonOf(pool),
  };
}

function observedMachineConfigNode(node: MachineConfigNodeObject): ObservedStatus {
  return {
    name: node.metadata.name,
    target: node.spec.configVersion?.desired ?? '',
    current: node.status?.configVersion?.current ?? '',
    paused: false,
    ...commonOf(node),
  };
}

interface PoolRolloutObject {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly blocker?: string;
    readonly counts?: { readonly waiting?: number };
    readonly grants?: readonly {
      readonly node: string;
      readonly run: string;
      readonly serves?: boolean;
    }[];
  };
}

function observedRollout({ metadata, status = {} }: PoolRolloutObject): ObservedRollout {
  const { blocker, counts, grants = [] } = status;
  return {
    name: metadata.name,
    ...(blocker === undefined ? {} : { blocker }),
    waiting: counts?.waiting ?? 0,
    grants: grants.map(({ node, run, serves = false }) => ({ node, run, serves })),
  };
}

const COUNT = /[mM]achineCount$/;

function commonOf(object: WithConditions) {
  const counts = Object.entries(object.status ?? {})
    .filter(([name]) => COUNT.test(name))
    .map(([name, value]) => [name, Number(value)]);
  return {
    annotations: object.metadata.annotations ?? {},
    conditions: conditionsOf(object),
    counts: Object.fromEntries(counts) as Record<string, number>,
  };
}

function conditionsOf({ status }: WithConditions): ObservedStatus['conditions'] {
  return Object.fromEntries(
    (status?.conditions ?? []).map(({ type, status: value, reason = '', message = '' }) => [
      type,
      { status: value, reason, message },
    ]),
  );
}

function isTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return conditions?.some((one) => one.type === type && one.status === 'True') === true;
}
