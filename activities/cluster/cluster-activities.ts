/** The cluster activities: the effects of a rollout on Nodes, pods and status. */

import type { ClusterActivities } from '../../workflows/contracts/cluster';
import { withFailures } from '../failures';
import type { ClusterPorts } from './ports';
import { createAwaitNodeReady } from './await-node-ready';
import { createCheckCordon } from './check-cordon';
import { createCompleteNode } from './complete-node';
import { createCordonNode } from './cordon-node';
import { createDrainNode } from './drain-node';
import { createFindRunningUpdates } from './find-running-updates';
import { createHoldNode } from './hold-node';
import {
  createMarkRolloutCancelled,
  createMarkRolloutStarted,
  createSetPoolPaused,
} from './pool-marks';
import { createReleaseNode } from './release-node';
import { createReportNodePhase } from './report-node-phase';
import { createSelectNodes } from './select-nodes';

/** They throw errors of the failure catalogue. */
export function createClusterActivities(ports: ClusterPorts): ClusterActivities {
  return {
    selectNodes: createSelectNodes(ports),
    cordonNode: createCordonNode(ports),
    drainNode: createDrainNode(ports),
    checkCordon: createCheckCordon(ports),
    reportNodePhase: createReportNodePhase(ports),
    awaitNodeReady: createAwaitNodeReady(ports),
    completeNode: createCompleteNode(ports),
    releaseNode: createReleaseNode(ports),
    holdNode: createHoldNode(ports),
    setPoolPaused: createSetPoolPaused(ports),
    markRolloutCancelled: createMarkRolloutCancelled(ports),
    markRolloutStarted: createMarkRolloutStarted(ports),
    findRunningUpdates: createFindRunningUpdates(ports),
  } satisfies ClusterActivities;
}

/** For a worker: errors become Temporal failures. */
export function clusterActivitiesForWorker(ports: ClusterPorts): ClusterActivities {
  return withFailures(createClusterActivities(ports));
}
