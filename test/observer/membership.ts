/** The pool of a node by labels alone, as in MCO. */

import type { NodeSelector, ObservedNode, ObservedStatus, Requirement } from './observed';

/** Pool by node; nodes in no pool are missing. */
export function homesOf(
  nodes: readonly ObservedNode[],
  pools: readonly ObservedStatus[],
): ReadonlyMap<string, string> {
  const homes = new Map<string, string>();
  for (const { name, labels } of nodes) {
    // No pool is for Windows.
    if (valueOf(labels, 'kubernetes.io/os') === 'windows') continue;
    const matching = pools.filter(({ nodeSelector }) => isSelected(labels, nodeSelector));
    const home = firstOf(matching.map((pool) => pool.name));
    if (home !== undefined) homes.set(name, home);
  }
  return homes;
}

/** `master` before any other, `worker` after any other; a node in two others is in none. */
function firstOf(pools: readonly string[]): string | undefined {
  const custom = pools.filter((pool) => pool !== 'master' && pool !== 'worker');
  if (custom.length > 1) return undefined;
  return ['master', ...custom, 'worker'].find((pool) => pools.includes(pool));
}

/** An absent or empty selector selects nothing. */
function isSelected(labels: ObservedNode['labels'], selector: NodeSelector | undefined): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const pairs = Object.entries(matchLabels);
  if (pairs.length + matchExpressions.length === 0) return false;
  return (
    pairs.every(([key, value]) => valueOf(labels, key) === value) &&
    matchExpressions.every((requirement) => isMet(labels, requirement))
  );
}

function isMet(labels: ObservedNode['labels'], { key, operator, values = [] }: Requirement) {
  const value = valueOf(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return values.length > 0 && (value === undefined || !values.includes(value));
    case 'Exists':
      return values.length === 0 && value !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && value === undefined;
    default:
      return false;
  }
}

function valueOf(labels: ObservedNode['labels'], key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
