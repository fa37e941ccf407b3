/** Rendering: MachineConfigs of a pool → one rendered config → `pool.spec.configuration`. */

export { GarbageController } from './garbage-controller';
export { RenderController } from './render-controller';
