/** The workflows: what a Temporal worker bundles. */

export { updateNode } from './node/update-node';
export { poolRollout } from './pool/pool-rollout';
