import type { NodeTaint } from './types';

/** As Kubernetes has it (`Taint.MatchTaint`): a node has one taint of each key and effect. */
export function isSameTaint(
  one: Pick<NodeTaint, 'key' | 'effect'>,
  other: Pick<NodeTaint, 'key' | 'effect'>,
): boolean {
  return one.key === other.key && one.effect === other.effect;
}
