/** IDs for the user namespaces of pods. */

import type { FieldProblem } from '../../field-problem';
import { numberAt } from '../../values-at';
import { type Facts, problemAt } from './problem';

const UNIT = 65_536;
const ALL_IDS = 2 ** 32;
const IDS = ['userNamespaces', 'idsPerPod'];

/**
 * IDs of user namespaces, on a machine without a range of its own for the user kubelet: pods share
 * all IDs but those of the first range.
 *
 * @see kubernetes pkg/kubelet/apis/config/validation/validation_linux.go (v1.36.3);
 *   pkg/kubelet/userns/userns_manager.go, MakeUserNsManager; pkg/kubelet/kubelet_pods.go,
 *   getKubeletMappings
 */
export function userNamespaceProblems({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const ids = numberAt(config, ...IDS) ?? UNIT;
  if (ids < UNIT || ids % UNIT !== 0 || ids >= ALL_IDS) {
    const allowed = `a multiple of ${UNIT} below ${ALL_IDS}`;
    return [problemAt(IDS, `is ${ids}, which is not ${allowed}`, `write ${UNIT}`)];
  }
  if (!isEnabled('UserNamespacesSupport')) return [];
  if (ALL_IDS % ids !== 0) {
    const problem = `is ${ids}, which does not divide the ${ALL_IDS} IDs of a machine`;
    return [problemAt(IDS, problem, `write ${UNIT}, or twice, four times, eight times as much`)];
  }
  return podsProblems(config, ids);
}

function podsProblems(config: Facts['config'], ids: number): readonly FieldProblem[] {
  const written = numberAt(config, 'maxPods') ?? 0;
  const pods = written === 0 ? 110 : written;
  const most = ALL_IDS / ids - 1;
  if (pods <= most || !Number.isInteger(pods)) return [];
  const room = `a machine has IDs for ${most} pods of ${ids} each`;
  if (written === 0) {
    const problem = `is ${ids}, but ${room}, and maxPods is ${pods} by default`;
    return [problemAt(IDS, problem, `lower it, or set maxPods to at most ${most}`)];
  }
  const fix = `write at most ${most}, or lower userNamespaces.idsPerPod`;
  return [problemAt(['maxPods'], `is ${pods}, but ${room}`, fix)];
}
