import { messageOf } from '../../core/errors';
import { ANNOTATION, NodeState } from '../../core/names';
import type { NodePhase } from '../../core/node/lifecycle';
import { annotationOf, desiredConfigOf } from '../../core/node/predicates';
import type { ClusterActivities, NodeStep } from '../../workflows/contracts/cluster';
import { knownNode } from './known-node';
import type { ClusterPorts } from './ports';
import { showPhase, type ShownPhase } from './show-phase';
import { tell } from './tell';

type Shown = Pick<NodeStep, 'node' | 'pool' | 'config' | 'summary'>;

/** Nobody waits for it. */
export function createShowRebooting(ports: ClusterPorts): ClusterActivities['showRebooting'] {
  return async (input) => {
    const { node, config } = input;
    const known = await knownNode(ports, node);
    tell(ports, known, 'Normal', 'Reboot', `Node will reboot into config ${config}`);
    await showLate(ports, input, 'Rebooting');
  };
}

/** For a way back: nobody waits for it. */
export function createShowGoingBack(ports: ClusterPorts): ClusterActivities['showGoingBack'] {
  return (input) => showLate(ports, input, 'GoingBack');
}

/** Shows a phase beside the work that it is about, which does not fail with it. */
export async function showMeanwhile(
  ports: ClusterPorts,
  step: Shown,
  phase: NodePhase,
): Promise<void> {
  await unlessItFails(ports, { node: step.node, phase }, () => showLate(ports, step, phase));
}

/** The same, of the phase that begins with the write of its Node. */
export async function showBegun(ports: ClusterPorts, shown: ShownPhase): Promise<void> {
  const { node, phase } = shown;
  await unlessItFails(ports, { node: node.metadata.name, phase }, () => showPhase(ports, shown));
}

async function unlessItFails(
  ports: ClusterPorts,
  what: { readonly node: string; readonly phase: NodePhase },
  show: () => Promise<void>,
): Promise<void> {
  try {
    await show();
  } catch (error) {
    // The update's own page says the same.
    ports.run().log.debug('phase is not shown', { ...what, reason: messageOf(error) });
  }
}

/** It may come late, so a node that has left this config is not changed. */
async function showLate(
  ports: ClusterPorts,
  { node: name, pool, config, summary }: Shown,
  phase: NodePhase,
): Promise<void> {
  const node = await knownNode(ports, name);
  const isWorking = annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
  if (!isWorking || desiredConfigOf(node) !== config) return;
  const message = summary === undefined ? {} : { message: summary };
  await showPhase(ports, { node, pool, config, phase, ...message, mayBeLate: true });
}
