/** What a rollout wrote, version by version: its failures, and who got a grant. */

import type { KubernetesObject } from '@kubernetes/client-node';
import { KubeConfig } from '@kubernetes/client-node';
import { follow } from '../../observer/follow';

interface PoolRolloutObject extends KubernetesObject {
  readonly status?: {
    readonly config?: string;
    readonly counts: { readonly failed: number };
    readonly grants: readonly { readonly node: string; readonly run: string }[];
  };
}

interface Written {
  readonly config: string;
  readonly failed: number;
  /** Nodes that got a grant with this write. */
  readonly granted: readonly string[];
}

interface Told {
  readonly failures: number;
  /** Although the config had failed on `limit` nodes, as the same write says. */
  readonly grantsAfter: readonly string[];
  readonly order: readonly string[];
}

interface GrantsWatch {
  /** Of the rollout of this config. */
  told(config: string, limit: number): Told;
  stop(): void;
}

export async function watchGrants(kubeconfig: string, pool: string): Promise<GrantsWatch> {
  const kube = new KubeConfig();
  kube.loadFromFile(kubeconfig);
  const all: Written[] = [];
  let runs = new Set<string>();
  const following = await follow<PoolRolloutObject>(kube, {
    path: '/apis/slipway.dev/v1alpha1/poolrollouts',
    seen: ({ metadata, status }) => {
      if (metadata?.name !== pool || status === undefined) return;
      const { config = '', counts, grants } = status;
      const granted = grants.filter(({ run }) => !runs.has(run)).map(({ node }) => node);
      runs = new Set(grants.map(({ run }) => run));
      all.push({ config, failed: counts.failed, granted });
    },
    gone: () => undefined,
  });
  return {
    told: (config, limit) => {
      const written = all.filter((one) => one.config === config);
      return {
        failures: Math.max(0, ...written.map(({ failed }) => failed)),
        grantsAfter: written.flatMap(({ failed, granted }) => (failed >= limit ? granted : [])),
        order: written.map(({ failed, granted }) => `${failed} failed; grants: ${granted.join()}`),
      };
    },
    stop: () => following.stop(),
  };
}
