/**
 * Files that append (docs/adr/0015). MCO renders one without contents so that nobody can read the
 * result again, and its daemon refuses all of them. Slipway's hosts apply them, so both answers of
 * MCO are corrected here.
 */

import { listOf, structOf, without, type IgnitionObject } from '../ignition';
import { ignitionReason, type StorageOverride } from './reconcilable';
import type { IgnitionConfig, IgnitionFile } from './types';

/**
 * The merged config with `overwrite: false` for each appending file without contents, where
 * Ignition refuses MCO's `overwrite: true`. Other configs are returned unchanged, so that their
 * rendered name is MCO's.
 */
export function withReadableAppends(config: IgnitionConfig): IgnitionConfig {
  const { storage } = config;
  if (storage?.files?.some(isOnlyAppended) !== true) return config;
  const files = storage.files.map((file) =>
    isOnlyAppended(file) ? { ...file, overwrite: false } : file,
  );
  return { ...config, storage: { ...storage, files } };
}

function isOnlyAppended({ append = [], contents }: IgnitionFile): boolean {
  return append.length > 0 && contents?.source === undefined;
}

/** Like `ignitionReason`, but accepts files that append. */
export function ignitionReasonOnHosts(
  old: IgnitionObject,
  next: IgnitionObject,
  overrides: readonly StorageOverride[],
): string | undefined {
  return ignitionReason(old, withoutAppends(next), overrides);
}

function withoutAppends(config: IgnitionObject): IgnitionObject {
  const storage = structOf(config['storage']);
  const files = listOf(storage['files']).map((file) => without(file, 'append'));
  return { ...config, storage: { ...storage, files } };
}
