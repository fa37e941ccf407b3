import type { MachineConfigNode, Node, NodeTaint } from '../../core/node/types';
import { hasUpdateTaint, otherTaints, taintsWithUpdate } from '../../core/node/update-taint';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { inTurns, nodesInLine, resolvePolicy } from '../../core/rollout';
import { decideRollout } from '../rollout/decision';

interface TaintPicture {
  readonly nodes: { list(): readonly Node[] };
  readonly pools: { list(): readonly MachineConfigPool[] };
  readonly policies: { get(pool: string): RolloutPolicy | undefined };
  readonly machineConfigNodes: { get(node: string): MachineConfigNode | undefined };
}

interface DueTaints {
  readonly inLine: ReadonlySet<string>;
  /**
   * First nodes that lack the taint, the next to be drained first, the pools in turns; then those
   * that must lose it.
   */
  readonly due: readonly Node[];
}

export function dueTaints(picture: TaintPicture): DueTaints {
  const nodes = picture.nodes.list();
  const pools = picture.pools.list();
  const { members } = assignNodes(nodes, pools);
  const line = inTurns(
    pools.map((pool) => lineOf(picture, pool, members.get(pool.metadata.name) ?? [])),
  );
  const inLine = new Set(line.map(({ metadata }) => metadata.name));
  const left = nodes.filter((node) => hasUpdateTaint(node) && !inLine.has(node.metadata.name));
  return { inLine, due: [...line.filter((node) => !hasUpdateTaint(node)), ...left] };
}

/** Taints of others stay. */
export function taintsOf(node: Node, isInLine: boolean): readonly NodeTaint[] {
  return isInLine ? taintsWithUpdate(node) : otherTaints(node);
}

function lineOf(
  { policies, machineConfigNodes }: TaintPicture,
  pool: MachineConfigPool,
  nodes: readonly Node[],
): readonly Node[] {
  const policy = policies.get(pool.metadata.name);
  const decision = decideRollout({ pool, nodes, ...(policy === undefined ? {} : { policy }) });
  if (decision.kind !== 'roll') return [];
  const machineConfigNodeOf = (node: string) => machineConfigNodes.get(node);
  return nodesInLine({ pool, nodes, machineConfigNodeOf }, resolvePolicy(policy?.spec));
}
