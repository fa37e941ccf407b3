export { readManifestFiles } from './manifest-files';
export { readManifestObjects, type ManifestObject } from './manifest-objects';
export { describeManifestProblem, type ManifestProblem } from './manifest-problem';
export { readYamlDocument } from './one-document';
export { readYaml } from './yaml-documents';
export type { Step } from './yaml-places';
export { writeOutputDirectory } from './output-directory';
