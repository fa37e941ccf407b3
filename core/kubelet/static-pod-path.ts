/** Static pods run the control plane: their folder may only be turned off, and only elsewhere. */

import { goQuote } from '../encoding/go-quote';
import { LABEL } from '../names';
import type { LabelSelector } from '../object-meta';
import { decodeKubeletConfiguration, type ReadYaml } from './decode';
import type { UserKubeletConfig } from './types';

interface Pool {
  readonly name: string;
  readonly nodeSelector?: LabelSelector | undefined;
}

/**
 * Whether machines of the control plane are in the pool: by its name, or because its node selector
 * asks for their label.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), isControlPlanePool
 */
export function isControlPlanePool({ name, nodeSelector }: Pool): boolean {
  if (name === 'master' || name === 'arbiter') return true;
  if (Object.hasOwn(nodeSelector?.matchLabels ?? {}, LABEL.MASTER)) return true;
  return (nodeSelector?.matchExpressions ?? []).some(
    ({ key, operator }) => key === LABEL.MASTER && (operator === 'Exists' || operator === 'In'),
  );
}

/**
 * The reason to refuse a KubeletConfig for this pool, or undefined: a pool of the control plane may not
 * name the field at all, any other only with an empty text. An empty text changes nothing.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), validateStaticPodPathGivenPool
 */
export function staticPodPathError(
  { text }: Pick<UserKubeletConfig, 'text'>,
  pool: Pool,
  readYaml: ReadYaml,
): string | undefined {
  if (text === undefined) return undefined;
  const decoded = decodeKubeletConfiguration(text, readYaml);
  if ('error' in decoded) {
    return `KubeletConfig could not be unmarshalled, err: ${decoded.error}`;
  }
  const path = decoded.configuration['staticPodPath'];
  if (path === undefined) return undefined;
  const name = goQuote(pool.name);
  if (isControlPlanePool(pool)) {
    return `KubeletConfiguration: staticPodPath is not allowed to be set for control plane pool ${name}`;
  }
  if (typeof path !== 'string' || path === '') return undefined;
  return `KubeletConfiguration: staticPodPath must be empty for pool ${name}, but contains: ${path}`;
}
