export { firstBootConfig, readServedIgnition, type FirstBootFacts } from './config';
export { FIRST_BOOT_FILE } from './files';
export { bootstrapKubeconfig } from './kubeconfig';
export { configsInstead, type InsteadBecause } from './instead';
export { provedConfigName, servedConfigName } from './served-name';
