import { ANNOTATION } from '../../core/names';
import { currentConfigOf, desiredConfigOf } from '../../core/node/predicates';
import { preparedMark } from '../../core/node/prepared';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import type { TakeOutInput } from '../../workflows/contracts/cluster';
import { unlessGone } from './known-node';
import type { ClusterPorts } from './ports';

/** MCO's word for a node without a config (pkg/upgrademonitor, 7ff337a4). */
const NO_CONFIG = 'NotYetSet';

type Ports = Pick<ClusterPorts, 'machineConfigNodes' | 'rollouts'> & {
  readonly view: Pick<ClusterPorts['view'], 'machineConfigNodes'>;
};

/** Says on the MachineConfigNode that the update waits for its grant, and wakes the rollout. Safe to repeat. */
export async function sayPrepared(ports: Ports, node: Node, input: TakeOutInput): Promise<void> {
  const mark = preparedMark(input.run, input.config, input.serves === true);
  const known = ports.view.machineConfigNodes.get(input.node);
  if (known?.metadata.annotations?.[ANNOTATION.PREPARED] === mark) return;
  const written = await annotated(ports, node, input, mark);
  ports.rollouts.wake(input.pool, { machineConfigNodes: versionOf(written) });
}

async function annotated(
  { machineConfigNodes }: Ports,
  node: Node,
  { node: name, pool }: TakeOutInput,
  mark: string,
): Promise<MachineConfigNode> {
  const annotate = () => machineConfigNodes.annotate(name, { [ANNOTATION.PREPARED]: mark });
  const written = await unlessGone(annotate);
  if (written !== undefined) return written;
  // It names what the node is on: the update may never begin.
  const desired = currentConfigOf(node) ?? desiredConfigOf(node) ?? NO_CONFIG;
  const spec = { node: { name }, pool: { name: pool }, configVersion: { desired } };
  await machineConfigNodes.applySpec({ name, uid: node.metadata.uid ?? '' }, spec);
  return annotate();
}
