/** Rendering: MachineConfigs of a pool → one rendered config → `pool.spec.configuration`. */

export { RenderController, type RenderDeps } from './render-controller';
