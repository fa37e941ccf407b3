/** Labels that a kubelet may set on its own Node, so that it chooses a pool by itself. */

import type { LabelSelector } from '../object-meta';

/**
 * Kubernetes, staging/src/k8s.io/kubelet/pkg/apis/well_known_labels.go (release 1.33), as the admission plugin
 * NodeRestriction has it.
 */
const OF_KUBELET: readonly string[] = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
];
const NAMESPACES_OF_KUBELET = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const RESERVED = ['kubernetes.io', 'k8s.io'];

/** @returns each key of the selector once that a kubelet may set */
export function kubeletLabels(selector: LabelSelector | undefined): readonly string[] {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const keys = [...Object.keys(matchLabels), ...matchExpressions.map(({ key }) => key)];
  return [...new Set(keys)].filter(isOfKubelet);
}

function isOfKubelet(key: string): boolean {
  const [namespace = ''] = key.includes('/') ? key.split('/') : [];
  const isIn = (domain: string): boolean =>
    namespace === domain || namespace.endsWith(`.${domain}`);
  if (!RESERVED.some(isIn)) return true;
  return OF_KUBELET.includes(key) || NAMESPACES_OF_KUBELET.some(isIn);
}
