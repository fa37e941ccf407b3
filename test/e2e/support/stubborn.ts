/** Pods that only one node can run, and whose eviction a person may forbid: they block the drain of that node. */

import type { World } from './world';

const STUBBORN = 'stubborn';
const BUDGETS = '/apis/policy/v1/namespaces/shop/poddisruptionbudgets';

const inShop = (node: string) => ({ name: `${STUBBORN}-${node}`, namespace: 'shop' });
const labelsOn = (node: string) => ({ app: STUBBORN, on: node });

export async function placeStubbornPods(world: World): Promise<void> {
  for (const node of world.workers) await world.stack.manifests.applyObject(stubborn(node));
}

/**
 * Forbids to evict these pods, which blocks the drains. Other pods would not do: the last rebooted node has none
 * of them.
 */
export async function hold(world: World, nodes: readonly string[]): Promise<void> {
  for (const node of nodes) {
    await world.until(`the stubborn pod of ${node} is there`, () =>
      world.record.pods.some(({ app, ready, ...pod }) => {
        return app === STUBBORN && ready && pod.node === node;
      }),
    );
    await world.stack.manifests.applyObject({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { ...inShop(node), labels: { app: STUBBORN } },
      spec: { minAvailable: 1, selector: { matchLabels: labelsOn(node) } },
    } as object);
  }
}

export async function letGo({ api }: Pick<World, 'api'>): Promise<void> {
  await api.call('DELETE', `${BUDGETS}?labelSelector=app%3D${STUBBORN}`);
}

function stubborn(node: string) {
  const labels = labelsOn(node);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...inShop(node), labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          nodeSelector: { 'kubernetes.io/hostname': node },
          containers: [{ name: STUBBORN, image: 'registry.example.com/shop/stubborn:1' }],
        },
      },
    },
  };
}
