/** MCO keeps rendered configs for ever. */

import type { MachineConfig } from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';

interface GarbageInput {
  readonly configs: readonly MachineConfig[];
  /** Of the cluster, because a node may change its pool. */
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: readonly MachineConfigNode[];
  /** How many unused configs stay. */
  readonly keep: number;
}

/** Configs that no pool, node or MachineConfigNode uses, without the newest ones. */
export function findGarbage(input: GarbageInput): readonly MachineConfig[] {
  const inUse = namesInUse(input);
  return input.configs
    .filter(({ metadata }) => !inUse.has(metadata.name))
    .sort(newestFirst)
    .slice(input.keep);
}

function namesInUse(
  input: Pick<GarbageInput, 'pools' | 'nodes' | 'machineConfigNodes'>,
): ReadonlySet<string> {
  const names = [
    ...input.pools.flatMap(({ metadata, spec, status }) => [
      spec.configuration?.name,
      status?.configuration?.name,
      metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED],
    ]),
    ...input.nodes.flatMap(({ metadata }) => [
      metadata.annotations?.[ANNOTATION.CURRENT_CONFIG],
      metadata.annotations?.[ANNOTATION.DESIRED_CONFIG],
      metadata.annotations?.[ANNOTATION.HELD_FOR],
    ]),
    ...input.machineConfigNodes.flatMap(({ spec, status }) => [
      spec.configVersion.desired,
      status?.configVersion?.current,
      status?.configVersion?.desired,
    ]),
  ];
  return new Set(names.filter((name) => name !== undefined));
}

function newestFirst(a: MachineConfig, b: MachineConfig): number {
  const [first, second] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? '');
  if (first === second) return a.metadata.name < b.metadata.name ? -1 : 1;
  return (first ?? '') < (second ?? '') ? 1 : -1;
}
