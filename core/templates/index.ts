/** MachineConfigs from templates and the ControllerConfig. */

export { escaped } from './escape';
export { admissionRefusals, VALUE_NAMES } from './facts';
export { TEMPLATES_FAILING } from './conditions';
export { findingText } from './filler';
export { lookAtTemplates, type TemplateLook, type TemplateObject } from './look';
export type * from './types';
