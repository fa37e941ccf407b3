import { isOnlyNode, NO_DRAIN } from '../../core/drain';
import { NodeCondition } from '../../core/names';
import { NodePhase } from '../../core/node/lifecycle';
import { isCordonedBySlipway } from '../../core/rollout';
import type { ClusterActivities, CordonNodeInput } from '../../workflows/contracts/cluster';
import type { Node } from '../../core/node/types';
import type { ClusterPorts, NodeChange } from './ports';
import { changeInTurn } from './in-turn';
import { orDeleted } from './known-node';
import { cordonChange, refuseMoved, type Turned } from './node-changes';
import { nothingToDrain } from './nothing-to-drain';
import { RoomInPools, type TakeRoom } from './room-in-pool';
import { SilentPicture } from './silent-picture';
import { showPhase } from './show-phase';
import { tell } from './node-events';
import { whileWanted } from './still-wanted';

/**
 * Targets and cordons a node, and checks whether any pod must leave. Safe to run twice. Shows the
 * next phase (Draining, Applying), because this one is too short.
 */
export function createCordonNode(ports: ClusterPorts): ClusterActivities['cordonNode'] {
  const room = new RoomInPools(ports);
  const picture = new SilentPicture(ports);
  const isOnlyNodeNow = async (name: string): Promise<boolean> => {
    const { nodes } = ports.view;
    await nodes.synced;
    if (!isOnlyNode(name, nodes.list())) return false;
    // Other nodes may have joined unseen.
    await picture.bringUpToDate();
    return isOnlyNode(name, nodes.list());
  };
  return async (input) => {
    const run = ports.run();
    const throwIfGivenUp = whileWanted(ports, input);
    const isOnly = await isOnlyNodeNow(input.node);
    const isCordoning = input.cordon && !isOnly;
    const write = (takeRoom: TakeRoom): Promise<Node> => {
      const change = (known: Node, step: Turned<CordonNodeInput>): NodeChange | undefined => {
        // A late attempt must not cordon a node that was returned to service.
        throwIfGivenUp();
        refuseMoved(known, input, ports.view.pools.list());
        const wanted = cordonChange(known, { ...step, cordon: isCordoning });
        if (wanted !== undefined) takeRoom(known);
        return wanted;
      };
      return orDeleted(input.node, () => changeInTurn(ports, input, change));
    };
    // A repair takes no slot.
    const node = await (input.repair === true
      ? write(() => undefined)
      : room.whileThereIs(input, write));
    const seen =
      isCordoning && input.drain !== undefined
        ? await nothingToDrain(ports, { run, node: input.node, drain: input.drain })
        : undefined;
    const isSkipping = input.cordon && isOnly;
    const drained = isSkipping ? { evicted: 0, left: 0 } : seen;
    const isDraining = isCordoning && drained === undefined;
    const done = [
      ...(isCordoning ? [NodeCondition.CORDONED] : []),
      ...(seen === undefined ? [] : [NodeCondition.DRAINED]),
    ];
    await showPhase(ports, {
      node,
      pool: input.pool,
      config: input.config,
      phase: isDraining ? NodePhase.DRAINING : NodePhase.APPLYING,
      message: isSkipping ? `${input.summary}; ${NO_DRAIN}` : input.summary,
      throwIfGivenUp,
      ...(done.length === 0 ? {} : { done }),
    });
    if (isSkipping) await tell(ports, node, 'Normal', 'DrainSkipped', NO_DRAIN);
    const cordoned = isCordonedBySlipway(node);
    run.log.info(cordoned ? 'cordoned node' : 'targeted node', {
      node: input.node,
      config: input.config,
      ...(drained === undefined ? {} : { drained }),
    });
    return { cordoned, ...(drained === undefined ? {} : { drained }) };
  };
}
