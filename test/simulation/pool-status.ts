/** I7 for pools: what the product says of a pool at rest, against what is counted here. */

import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { poolOfLabels } from './world/pools';

type Status = NonNullable<MachineConfigPool['status']>;

/** Everything at rest on the target: all members counted, none behind, none in trouble. */
export function wrongAtRest(
  pool: MachineConfigPool,
  status: Status,
  nodes: readonly Node[],
  shown: ReadonlyMap<string, MachineConfigNode>,
): readonly string[] {
  const { name } = pool.metadata;
  const members = nodes.filter((node) => poolOfLabels(node) === name);
  const all = members.length;
  const conditions = Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: value }) => [type, value]),
  );
  const says = {
    machines: status.machineCount,
    updated: status.updatedMachineCount,
    ready: status.readyMachineCount,
    unavailable: status.unavailableMachineCount,
    degraded: status.degradedMachineCount,
    configuration: status.configuration?.name,
    ...conditions,
  };
  const expected = {
    ...{ machines: all, updated: all, ready: all, unavailable: 0, degraded: 0 },
    configuration: pool.spec.configuration?.name,
    ...{ Updated: 'True', Updating: 'False', NodeDegraded: 'False', Degraded: 'False' },
  };
  const wrong = Object.entries(expected)
    .filter(([key, value]) => says[key as keyof typeof says] !== value)
    .map(([key, value]) => `${key} is ${String(says[key as keyof typeof says])}, not ${value}`);
  const elsewhere = members.flatMap(({ metadata }) => {
    const said = shown.get(metadata.name)?.spec.pool.name;
    return said === undefined || said === name ? [] : [`${metadata.name} says pool ${said}`];
  });
  return [...wrong, ...elsewhere];
}
