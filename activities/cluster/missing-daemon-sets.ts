import { controllerOf, type Pod } from '../../core/drain';
import type { ClusterView } from './ports';

/** DaemonSets, as `namespace/name`, that own one of these pods and are deleted. */
export function missingDaemonSets(
  view: Pick<ClusterView, 'daemonSets'>,
  pods: readonly Pod[],
): readonly string[] {
  return pods.flatMap((pod) => {
    const owner = controllerOf(pod);
    const namespace = pod.metadata.namespace ?? '';
    if (owner?.kind !== 'DaemonSet') return [];
    return view.daemonSets.get(owner.name, namespace) === undefined
      ? [`${namespace}/${owner.name}`]
      : [];
  });
}
