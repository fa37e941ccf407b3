/** Rendering: MachineConfigs of a pool → one rendered config → `pool.spec.configuration`. */

export { GarbageController, type GarbageDeps } from './garbage-controller';
export { RenderController, type RenderDeps } from './render-controller';
