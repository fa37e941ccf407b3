/** A host's record of what bundles brought: digests and paths, never contents. */

import { isRecord } from '../../core/is-record';
import { isBundlePath } from '../../core/host-bundle';
import type { Files } from '../ports';
import { readPrivate, writePrivate } from '../records/configs';

const BUNDLE_FILE = '/var/lib/slipway/bundle.json';

export interface BundleRecord {
  /** Path → SHA-256 of what the last bundle wrote there. */
  readonly written: Readonly<Record<string, string>>;
}

/** A lost record only means that files of registries without a bundle stay. */
export async function readBundleRecord(files: Pick<Files, 'look'>): Promise<BundleRecord> {
  const read = await readPrivate(files, BUNDLE_FILE);
  const written = isRecord(read) && isRecord(read['written']) ? read['written'] : {};
  return {
    written: Object.fromEntries(
      Object.entries(written).flatMap(([path, digest]) =>
        isBundlePath(path) && typeof digest === 'string' ? [[path, digest]] : [],
      ),
    ),
  };
}

export async function writeBundleRecord(files: Files, record: BundleRecord): Promise<void> {
  await writePrivate(files, BUNDLE_FILE, JSON.stringify(record));
}
