export type { IgnitionPorts } from './ignition';
export { redactText } from './text';
export { redactValue } from './values';
