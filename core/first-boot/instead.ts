/** The rendered config for a new machine when the regular one was deleted. */

import { isRenderedNameOf } from '../names';
import { currentConfigOf, isDone } from '../node/predicates';
import type { Node } from '../node/types';
import type { MachineConfigPool } from '../pool/types';

export type InsteadBecause = 'proved' | 'target';

interface InsteadConfig {
  readonly name: string;
  /**
   * `proved`: a node of the pool runs it. `target`: the pool goes there, and no node has verified
   * it.
   */
  readonly because: InsteadBecause;
}

/**
 * Best first: the config that most nodes of the pool run, verified; the last one that all of them
 * ran; the target. They may not exist. MCO's server answers 500 instead. Only names of rendered
 * configs of this pool count, because a kubelet can write anything on its Node.
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
