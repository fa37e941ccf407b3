/** Which rendered config a new machine gets when the one that it should get was deleted. */

import { isRenderedNameOf } from '../names';
import { currentConfigOf, isDone } from '../node/predicates';
import type { Node } from '../node/types';
import type { MachineConfigPool } from '../pool/types';

/** Why a config is as good as the one that is gone. */
export type InsteadBecause = 'proved' | 'target';

export interface InsteadConfig {
  readonly name: string;
  /** `proved`: a node of the pool runs it. `target`: the pool goes there, and no node has proved it. */
  readonly because: InsteadBecause;
}

/**
 * Best first: what most nodes of the pool run, verified; what all of them ran last; what the pool goes to. Whether
 * they exist is not known here. MCO's server has none of it: it answers 500.
 *
 * Nodes can be made to say anything by their kubelets, so of what they name only rendered configs of this pool count.
 *
 * @param members - nodes whose primary pool this is
 * @param gone - the config that does not exist
 */
export function configsInstead(
  pool: MachineConfigPool,
  members: readonly Node[],
  gone: string,
): readonly InsteadConfig[] {
  const counts = new Map<string, number>();
  for (const node of members) {
    const name = isDone(node) ? currentConfigOf(node) : undefined;
    if (name === undefined || !isRenderedNameOf(pool.metadata.name, name)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const run = [...counts].sort(([a, many], [b, more]) => more - many || (a < b ? -1 : 1));
  const proved = new Set([...run.map(([name]) => name), pool.status?.configuration?.name]);
  const target = pool.spec.configuration?.name;
  return [
    ...[...proved].map((name) => ({ name, because: 'proved' as const })),
    ...(proved.has(target) ? [] : [{ name: target, because: 'target' as const }]),
  ].flatMap(({ name, because }) => (name && name !== gone ? [{ name, because }] : []));
}
