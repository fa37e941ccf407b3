import type { KubernetesObject } from '@kubernetes/client-node';
import { KubeConfig } from '@kubernetes/client-node';
import { follow } from '../../observer/follow';

interface LeaseObject extends KubernetesObject {
  readonly spec?: { readonly holderIdentity?: string | null };
}

interface LeaderWatch {
  holder(): string;
  changed(from: string): Promise<string>;
  stop(): void;
}

export async function watchLeader(kubeconfig: string): Promise<LeaderWatch> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  let holder = '';
  const listeners = new Set<() => void>();
  const following = await follow<LeaseObject>(config, {
    path: '/apis/coordination.k8s.io/v1/leases',
    seen: ({ metadata, spec }) => {
      if (metadata?.name !== 'slipway-controllers') return;
      holder = spec?.holderIdentity ?? '';
      for (const listener of listeners) listener();
    },
    gone: () => undefined,
  });
  return {
    holder: () => holder,
    changed: (from) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (holder === from || holder === '') return;
          listeners.delete(look);
          resolve(holder);
        };
        listeners.add(look);
        look();
      }),
    stop: () => following.stop(),
  };
}
