import { isOnlyNode, NO_DRAIN } from '../../core/drain';
import { NodeCondition } from '../../core/names';
import { NodePhase } from '../../core/node/lifecycle';
import type { Node } from '../../core/node/types';
import { isCordonedBySlipway } from '../../core/rollout';
import type { CordonedNode } from '../../workflows/contracts/cluster';
import { changeInTurn } from './in-turn';
import { orDeleted } from './known-node';
import { cordonChange, type Cordoning, type Turned } from './node-changes';
import { nothingToDrain } from './nothing-to-drain';
import type { ClusterPorts, NodeChange } from './ports';
import { showBegun } from './show-meanwhile';
import { SilentPicture } from './silent-picture';
import { tell } from './tell';

/**
 * Targets and cordons a node, and checks whether any pod must leave. Safe to run twice. Shows the
 * next phase (Draining, Applying), because this one is too short.
 *
 * @param throwIfGivenUp - called before each write
 * @param refuse - called with the Node that is about to be written
 */
type Cordoner = (
  input: Cordoning,
  throwIfGivenUp: () => void,
  refuse?: (known: Node) => void,
) => Promise<CordonedNode>;

export function cordonerOf(ports: ClusterPorts): Cordoner {
  const picture = new SilentPicture(ports);
  const isOnlyNodeNow = async (name: string): Promise<boolean> => {
    const { nodes } = ports.view;
    await nodes.synced;
    if (!isOnlyNode(name, nodes.list())) return false;
    // Other nodes may have joined unseen.
    await picture.bringUpToDate();
    return isOnlyNode(name, nodes.list());
  };
  return async (input, throwIfGivenUp, refuse = () => undefined) => {
    const run = ports.run();
    const isOnly = await isOnlyNodeNow(input.node);
    const isCordoning = input.cordon && !isOnly;
    let isNew = false;
    const change = (known: Node, step: Turned<Cordoning>): NodeChange | undefined => {
      throwIfGivenUp();
      refuse(known);
      const difference = cordonChange(known, { ...step, cordon: isCordoning });
      isNew = difference?.unschedulable === true;
      return difference;
    };
    const node = await orDeleted(input.node, () => changeInTurn(ports, input, change));
    const seen =
      isCordoning && input.drain !== undefined
        ? await nothingToDrain(ports, { run, node: input.node, drain: input.drain })
        : undefined;
    const isSkipping = input.cordon && isOnly;
    const drained = isSkipping ? { evicted: 0, left: 0 } : seen;
    // On the way back, that is shown.
    if (!('isGoingBack' in input)) {
      await showBegun(ports, {
        ...{ node, pool: input.pool, config: input.config, throwIfGivenUp },
        phase: isCordoning && drained === undefined ? NodePhase.DRAINING : NodePhase.APPLYING,
        message: isSkipping ? `${input.summary}; ${NO_DRAIN}` : input.summary,
        done: [
          ...(isCordoning ? [NodeCondition.CORDONED] : []),
          ...(seen === undefined ? [] : [NodeCondition.DRAINED]),
        ],
      });
    }
    if (isSkipping) tell(ports, node, 'Normal', 'DrainSkipped', NO_DRAIN);
    if (isNew) tell(ports, node, 'Normal', 'Cordon', 'Cordoned node to apply update');
    const cordoned = isCordonedBySlipway(node);
    run.log.info(cordoned ? 'cordoned node' : 'targeted node', {
      node: input.node,
      config: input.config,
      ...(drained === undefined ? {} : { drained }),
    });
    return { cordoned, ...(drained === undefined ? {} : { drained }) };
  };
}
