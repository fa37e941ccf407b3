export type { IgnitionPorts } from './ignition';
export { isSecretName } from './secret-names';
export { redactText } from './text';
export { redactValue } from './values';
