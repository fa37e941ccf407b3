/** Rendering without a cluster, as the controllers would. */

export { BESIDE_BOOTSTRAP, BOOTSTRAP_FOLDERS, bootstrapFiles } from './bootstrap-files';
export type { Rest } from './rest';
export type { Finding } from './findings';
export type { EarlierConfigs } from './offline-view';
export { renderManifests, type OfflineRender } from './render-manifests';
