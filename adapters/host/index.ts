/** Nothing here decides what to change. */

export { type BundleClient, createBundleClient } from './bundle-client';
export { type ConfigClient, type ConfigClientOptions, createConfigClient } from './config-client';
export { createContainerImages, type ContainerImages } from './container-images/container-images';
export { type FileSystem, NODE_FILE_SYSTEM } from './file-system';
export { type Attributes, type AttributePort, createAttributes, NO_ATTRIBUTES } from './attributes';
export type { ChangeStep } from './file-changes';
export { createHostFiles, type HostFiles } from './files';
export { createHostUsers, type HostUsers, SHADOW_PATH } from './host-users';
export { createJournal, type Journal, type OpenJournal } from './journal';
export { JOURNAL_DIRECTORY } from './journal-directory';
export {
  createOfflineSystemd,
  type HostSystemd,
  type ServiceAction,
  type UnitEnablement,
} from './offline-systemd';
export { runCommand } from './os/command';
export { createNoneDriver } from './os/none';
export * from './os/driver';
export { REAL_OWNERSHIP } from './ownership';
export { type Inhibitor, rebootThroughSystemd } from './reboot';
export { createMachineTree, realFile } from './machine-tree';
export { filesAfterBoot } from './next-deployment';
export { createPathWatch, type PathWatch, type PathWatchOptions } from './path-watch';
export { askForPinnedImages } from './pinned-client';
export { createReportClient, type ReportClient } from './report-client';
export { isPlainPath } from './root-paths';
export { learnedOrderKeysFile, ORDER_KEYS_FILE, OrderKeyFiles } from './order-keys';
export { learnAuthorities, learnedAuthorityFile, trustedAuthorities } from './server-authority';
export { createSystemctl } from './systemctl';
export type * from './os/os-status';
export { ROOT_OWNER } from './path-state';
export type * from './path-state';
export type * from './unit-enablement';
export { hasUnit, isGenerated, ownLink, type SeePath } from './unit-links';
export { parseUnitState, type UnitState } from './unit-state';
export { tryAuthority } from './try-authority';
export { createVitals } from './vitals';
export { createPathProbe, type PathProbe } from './watch-probe';
