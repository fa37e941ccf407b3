/** The cluster activities: the effects of a rollout on Nodes, pods and status. */

import type { ClusterActivities } from '../../workflows/contracts/cluster';
import type { RolloutActivities } from '../../workflows/contracts/rollout';
import { withFailures } from '../failures';
import { createAwaitReturn } from './await-return';
import { createCheckCordon } from './check-cordon';
import { createCompleteNode } from './complete-node';
import { createDrainNode } from './drain-node';
import type { ClusterPorts } from './ports';
import { createReleaseNode } from './release-node';
import { createShowGoingBack, createShowRebooting } from './show-meanwhile';
import { withGap } from './step/gap';
import { createStep } from './step/step';
import { createCordonAgain, createTakeOutOfService } from './take-out-of-service';
import { createWhyCancelled } from './why-cancelled';
import { createWriteWord } from './write-word';

/** All but `step`, which has a task queue of its own. */
export type NodeActivities = ClusterActivities & Pick<RolloutActivities, 'writeWord'>;
export type StepActivities = Pick<RolloutActivities, 'step'>;

/** They throw errors of the failure catalogue. */
export function createClusterActivities(ports: ClusterPorts): NodeActivities {
  return {
    takeOutOfService: createTakeOutOfService(ports),
    cordonAgain: createCordonAgain(ports),
    drainNode: createDrainNode(ports),
    checkCordon: createCheckCordon(ports),
    showRebooting: createShowRebooting(ports),
    showGoingBack: createShowGoingBack(ports),
    awaitReturn: createAwaitReturn(ports),
    completeNode: createCompleteNode(ports),
    releaseNode: createReleaseNode(ports),
    whyCancelled: createWhyCancelled(ports),
    writeWord: createWriteWord(ports),
  } satisfies NodeActivities;
}

/** For a worker: errors become Temporal failures. */
export function clusterActivitiesForWorker(ports: ClusterPorts): NodeActivities {
  return withFailures(createClusterActivities(ports));
}

/** For the worker of the queue of steps. */
export function stepActivitiesForWorker(ports: ClusterPorts): StepActivities {
  return withFailures({ step: withGap(createStep(ports)) });
}
