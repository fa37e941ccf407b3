/**
 * The host side of the ports of `activities/host`: files below a root, the undo journal, systemd,
 * accounts, OS drivers, the client of the host endpoint. Nothing here decides what to change.
 */

export { type ConfigClient, type ConfigClientOptions, createConfigClient } from './config-client';
export { type FileSystem, NODE_FILE_SYSTEM } from './file-system';
export { createHostFiles, type HostFiles, type HostFilesOptions } from './files';
export { createHostUsers, type HostUser, type HostUsers, SHADOW_PATH } from './host-users';
export { createJournal, type Journal, JOURNAL_DIRECTORY, type OpenJournal } from './journal';
export { createOfflineSystemd, type OfflineSystemd, type ServiceAction } from './offline-systemd';
export { createNoneDriver } from './os-driver-none';
export { type Ownership, REAL_OWNERSHIP } from './ownership';
export { hasCode, isPlainPath } from './root-paths';
export { createSystemctl } from './systemctl';
export type * from './types';
export { UNIT_DIRECTORY } from './unit-links';
