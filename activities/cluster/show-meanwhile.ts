import { messageOf } from '../../core/errors';
import { ANNOTATION, NodeState } from '../../core/names';
import type { NodePhase } from '../../core/node/lifecycle';
import { annotationOf, desiredConfigOf } from '../../core/node/predicates';
import type { ClusterActivities, NodeStep } from '../../workflows/contracts/cluster';
import { knownNode } from './known-node';
import type { ClusterPorts } from './ports';
import { showPhase } from './show-phase';

type Shown = Pick<NodeStep, 'node' | 'pool' | 'config' | 'summary'>;

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
  try {
    await showLate(ports, step, phase);
  } catch (error) {
    // The update's own page says the same.
    const reason = messageOf(error);
    ports.run().log.debug('phase is not shown', { node: step.node, phase, reason });
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
