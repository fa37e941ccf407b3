import { setTimeout as delay } from 'node:timers/promises';
import { fewNames } from '../../core/few';
import type { ApiClient } from './api-client';
import { mapBounded } from './bounded';

export interface NodeSpec {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly NodeTaint[];
}

interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

/** Parallel requests when there are many nodes. */
const PARALLEL = 16;
/** Rollouts order nodes by age, and tests rely on it. */
const IN_ORDER = 20;

/** With the labels that a kubelet would set. */
export async function postNodes(api: ApiClient, nodes: readonly NodeSpec[]): Promise<void> {
  await mapBounded(nodes, nodes.length <= IN_ORDER ? 1 : PARALLEL, (node) =>
    api.call('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: node.name,
        labels: {
          'kubernetes.io/hostname': node.name,
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': 'amd64',
          ...node.labels,
        },
        annotations: node.annotations ?? {},
      },
      spec: { taints: node.taints ?? [] },
    }),
  );
}

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: { readonly taints?: readonly { readonly key: string }[] };
    readonly status?: {
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  }[];
}

/**
 * The controller manager removes the taint of a new node shortly after it is Ready.
 *
 * @param patienceMs - how long to wait without progress
 * @throws Error that names the first nodes that are not ready
 */
export async function waitForNodes(
  api: ApiClient,
  names: readonly string[],
  patienceMs: number,
): Promise<void> {
  let deadline = performance.now() + patienceMs;
  let last = names.length;
  for (;;) {
    const { items } = await api.call<NodeList>('GET', '/api/v1/nodes');
    const usable = new Set(items.filter(isUsable).map(({ metadata }) => metadata.name));
    const missing = names.filter((name) => !usable.has(name));
    if (missing.length === 0) return;
    if (missing.length < last) deadline = performance.now() + patienceMs;
    last = missing.length;
    if (performance.now() > deadline) {
      throw new Error(
        `${missing.length} of ${names.length} nodes are not Ready, and none became so for ${patienceMs / 1000} s: ${fewNames(missing)}`,
      );
    }
    // Listing thousands of nodes slows the processes that make them Ready.
    await delay(Math.max(100, names.length));
  }
}

function isUsable(node: NodeList['items'][number]): boolean {
  const ready = node.status?.conditions?.some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
  return ready === true && !node.spec.taints?.some(({ key }) => key === NOT_READY_TAINT);
}

const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';
