/** A host's records of its drift across restarts: times and repairs. */

import type { DriftRepair } from '../../core/drift';
import type { Files } from '../ports';
import { writePrivate } from '../records/configs';

const DRIFT_FILE = '/var/lib/slipway/drift.json';

export interface DriftRecords {
  /** The times belong to this config alone. */
  readonly config: string;
  /** RFC 3339 by `path`, `unit NAME` or `os`. */
  readonly since: Readonly<Record<string, string>>;
  /** Attempts within the interval, oldest first; recorded before they begin. */
  readonly repairs: readonly DriftRepair[];
}

const NO_RECORDS: DriftRecords = { config: '', since: {}, repairs: [] };

export async function readDriftRecords(files: Files): Promise<DriftRecords> {
  const state = await files.look(DRIFT_FILE);
  if (state.kind !== 'file') return NO_RECORDS;
  try {
    // Only this module writes it, atomically.
    return JSON.parse(state.content.toString('utf8')) as DriftRecords;
  } catch (error) {
    // Only times are lost.
    if ((error as Error).name === 'SyntaxError') return NO_RECORDS;
    throw error;
  }
}

export async function writeDriftRecords(files: Files, records: DriftRecords): Promise<void> {
  await writePrivate(files, DRIFT_FILE, JSON.stringify(records));
}

export function repairsWithin(
  repairs: readonly DriftRepair[],
  intervalSeconds: number,
  now: Date,
): readonly DriftRepair[] {
  const oldest = now.getTime() - intervalSeconds * 1000;
  return repairs.filter(({ at }) => Date.parse(at) > oldest);
}
