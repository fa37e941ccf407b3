import { mayFollow, type NodePhase } from '../../core/node/lifecycle';

/**
 * The first unknown transition of a life, as `from -> to`; undefined = none. The same phase twice
 * in a row is one phase.
 */
export function forbiddenStep(phases: readonly NodePhase[]): string | undefined {
  const at = phases.findIndex((to, index) => {
    const from = phases[index - 1];
    return from !== undefined && from !== to && !mayFollow(from, to);
  });
  return at < 0 ? undefined : `${phases[at - 1]} -> ${phases[at]}`;
}
