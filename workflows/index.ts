/** The workflows: what a Temporal worker bundles. */

export { updateNode } from './update-node';
