/**
 * The API objects as zod schemas: what Slipway reads of them, field by field as in `deploy/crds`. A
 * test compares the two both ways. Schemas are tolerant: unknown fields pass, and values that are
 * well-formed but impossible are for `core` to judge.
 */

export { ControllerConfig } from './controller-config';
export { MachineConfig } from './machine-config';
export { MachineConfigNode } from './machine-config-node';
export { MachineConfigPool } from './machine-config-pool';
export { MachineConfiguration } from './machine-configuration';
export { parseObject } from './parse-object';
export { RolloutPolicy } from './rollout-policy';
