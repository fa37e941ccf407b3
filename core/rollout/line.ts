/** Which nodes wait for a rollout that will drain them by itself, and in which order. */

import type { MachineConfigNode, Node } from '../node/types';
import { slotsOrNone } from '../pool/capacity';
import type { MachineConfigPool, ResolvedPolicy } from '../pool/types';
import { inTurn, memberOf, servingFirst, willBeDrained } from './standing';
import { looksHalted } from './threshold';

interface PoolInLine {
  readonly pool: MachineConfigPool;
  /** Members of the pool. */
  readonly nodes: readonly Node[];
  /** They say whether the host of a node that failed was ever heard. */
  readonly machineConfigNodeOf: (node: string) => MachineConfigNode | undefined;
}

/**
 * The nodes that are not on the target of a pool that rolls, next in line first; at last those that an update
 * has out of service already, or that are so by themselves: no pod goes there anyway.
 *
 * None of a pool that is paused, or that has failed so often that it waits for a person. Not a node that failed
 * on the target or is held for it, because nobody drains it; nor one that has yet to say what it is on. Whether a
 * person has to start the rollout, or has cancelled it, is asked elsewhere.
 */
export function nodesInLine(
  { pool, nodes, machineConfigNodeOf }: PoolInLine,
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
): readonly Node[] {
  const target = pool.spec.configuration?.name ?? '';
  const { invalid } = slotsOrNone(pool, nodes.length);
  if (target === '' || pool.spec.paused === true || invalid !== undefined) return [];
  const members = nodes.map((node) => {
    const machineConfigNode = machineConfigNodeOf(node.metadata.name);
    return memberOf(node, { target, ...(machineConfigNode && { machineConfigNode }) });
  });
  if (looksHalted(members, policy)) return [];
  const waiting = inTurn(members.filter((member) => willBeDrained(member, target)));
  return servingFirst(waiting).map(({ node }) => node);
}

/** Several lines as one: the first of each, then the second of each, and so on. */
export function inTurns<T>(lines: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lines.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) =>
    lines.flatMap((line) => line.slice(place, place + 1)),
  ).flat();
}
