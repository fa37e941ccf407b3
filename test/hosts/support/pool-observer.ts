import { type Observer, startObserver } from '../../observer/observer';
import type { World } from './world';

/** Watches a pool of one machine at a time beside that of the world, as long as the world lives. */
export function observePool({ lifetime, fleet }: World, pool: string): Promise<Observer> {
  return lifetime.own(
    () =>
      startObserver({
        kubeconfig: fleet.cluster.adminKubeconfig,
        nodeSelector: `node-role.kubernetes.io/${pool}`,
        maxUnavailable: 1,
      }),
    (started) => started.stop(),
  );
}
