/** As their hosts report them. */

import { updatersShown } from '../../core/machine/updaters';
import type { Node } from '../../core/node/types';
import type { ClusterView } from '../ports';
import { foldNames } from '../tree';

export interface UpdaterGroup {
  readonly nodes: readonly string[];
  readonly message: string;
}

export function foreignUpdaters(
  { machineConfigNodes }: Pick<ClusterView, 'machineConfigNodes'>,
  members: readonly Node[],
): readonly UpdaterGroup[] {
  const groups = new Map<string, string[]>();
  for (const { metadata } of members) {
    const message = updatersShown(machineConfigNodes.get(metadata.name))?.message;
    if (message === undefined) continue;
    const nodes = groups.get(message) ?? [];
    groups.set(message, nodes);
    nodes.push(metadata.name);
  }
  return [...groups].map(([message, nodes]) => ({ nodes, message }));
}

export function updaterLines(groups: readonly UpdaterGroup[]): readonly string[] {
  return groups.map(({ nodes, message }) => `${foldNames(nodes)}: ${message}`);
}
