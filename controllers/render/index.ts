export { GarbageController } from './garbage-controller';
export { RenderController } from './render-controller';
