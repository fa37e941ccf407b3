/**
 * Owners for a simulated host whose process may not change owners: they are recorded in a file. A
 * path without a record belongs to root.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hasCode } from '../host/root-paths';
import type { Ownership } from '../host/ownership';
import type { Owner } from '../host/path-state';

const ROOT: Owner = { uid: 0, gid: 0 };

/** @param recordFile - real path of the JSON file with the owners */
export function createRecordedOwnership(recordFile: string): Ownership {
  const owners = new Map<string, Owner>(Object.entries(readRecord(recordFile)));
  return {
    of: (path) => owners.get(path) ?? ROOT,
    async set(path, _handle, wanted) {
      const known = owners.get(path) ?? ROOT;
      if (known.uid === wanted.uid && known.gid === wanted.gid) return;
      owners.set(path, wanted);
      writeFileSync(`${recordFile}.new`, JSON.stringify(Object.fromEntries(owners)), {
        mode: 0o600,
      });
      renameSync(`${recordFile}.new`, recordFile);
    },
  };
}

function readRecord(recordFile: string): Readonly<Record<string, Owner>> {
  try {
    // Only this module writes it.
    return JSON.parse(readFileSync(recordFile, 'utf8')) as Record<string, Owner>;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return {};
    throw error;
  }
}
