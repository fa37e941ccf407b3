/**
 * An independent observer of a cluster: its own watches with the plain Kubernetes client, none of the
 * product's adapters. Used by the demo, the end-to-end tests and the benchmarks.
 */

import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { KubeConfig, Watch } from '@kubernetes/client-node';
import { RolloutRecord } from './record';

export interface ObserverOptions {
  readonly kubeconfig: string;
  /** Nodes that count, by label selector, e.g. `node-role.kubernetes.io/worker`. */
  readonly nodeSelector: string;
  readonly maxUnavailable?: number;
  /** Ready pods that each `app` label must keep. */
  readonly minAvailable?: Readonly<Record<string, number>>;
}

export interface Observer {
  readonly record: RolloutRecord;
  stop(): void;
}

/** Starts watching; resolves once nodes and pods are known. */
export async function startObserver(options: ObserverOptions): Promise<Observer> {
  const config = new KubeConfig();
  config.loadFromFile(options.kubeconfig);
  const record = new RolloutRecord(options);
  const nodes = await followPath<V1Node>(config, {
    path: '/api/v1/nodes',
    labelSelector: options.nodeSelector,
    seen: (node) => record.nodeSeen(observedNode(node), Date.now()),
    gone: (node) => record.nodeGone(node.metadata?.name ?? ''),
  });
  const pods = await followPath<V1Pod>(config, {
    path: '/api/v1/pods',
    labelSelector: 'app',
    seen: (pod) => record.podSeen(podKey(pod), observedPod(pod)),
    gone: (pod) => record.podGone(podKey(pod)),
  });
  return {
    record,
    stop: () => {
      nodes.stop();
      pods.stop();
    },
  };
}

function observedNode(node: V1Node) {
  return {
    name: node.metadata?.name ?? '',
    unschedulable: node.spec?.unschedulable === true,
    ready: node.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true,
    bootID: node.status?.nodeInfo?.bootID ?? '',
    annotations: node.metadata?.annotations ?? {},
  };
}

function podKey(pod: V1Pod): string {
  return `${pod.metadata?.namespace}/${pod.metadata?.name}`;
}

function observedPod(pod: V1Pod) {
  const ready = pod.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True');
  const terminating = pod.metadata?.deletionTimestamp != null;
  return {
    name: podKey(pod),
    app: pod.metadata?.labels?.['app'] ?? '',
    ready: ready === true && !terminating,
    terminating,
  };
}

/** An API server that is away is asked again after this long. */
const RETRY_MS = 200;

interface Followed<T> {
  readonly path: string;
  readonly labelSelector: string;
  seen(object: T): void;
  gone(object: T): void;
}

interface WatchedMeta {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Watches from the beginning and resumes where it was cut; resolves at the end of the first list. */
async function followPath<T>(config: KubeConfig, followed: Followed<T>): Promise<{ stop(): void }> {
  const watch = new Watch(config);
  let stopped = false;
  let controller: AbortController | undefined;
  let version: string | undefined;
  let listed: () => void = () => undefined;
  const first = new Promise<void>((resolve) => {
    listed = resolve;
  });
  const open = async (): Promise<void> => {
    controller = await watch.watch(
      followed.path,
      {
        labelSelector: followed.labelSelector,
        allowWatchBookmarks: true,
        // The server sends what exists, then one marked bookmark: a list without a second request.
        ...(version === undefined
          ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
          : { resourceVersion: version }),
      },
      (phase: string, object: T & WatchedMeta) => {
        version = object.metadata?.resourceVersion ?? version;
        if (phase === 'BOOKMARK') listed();
        else if (phase === 'DELETED') followed.gone(object);
        else if (phase === 'ADDED' || phase === 'MODIFIED') followed.seen(object);
      },
      () => retryLater(),
    );
  };
  const retryLater = (): void => {
    if (stopped) return;
    setTimeout(() => {
      open().catch(retryLater);
    }, RETRY_MS);
  };
  await open();
  await first;
  return {
    stop: () => {
      stopped = true;
      controller?.abort();
    },
  };
}
