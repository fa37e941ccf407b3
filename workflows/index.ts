/** The workflows: what a Temporal worker bundles. */

export { poolRollout } from './pool-rollout';
export { updateNode } from './update-node';
