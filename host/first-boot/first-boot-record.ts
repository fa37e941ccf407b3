/** The progress of the first boot. */

import type { Files } from '../ports';
import { isRecord, readPrivate, writePrivate } from '../records/configs';

const FIRST_BOOT_FILE = '/var/lib/slipway/first-boot.json';

export interface FirstBootRecord {
  /** `waiting`: tried again at `nextAttemptAt`. `failed`: not tried again in this boot. */
  readonly state: 'working' | 'waiting' | 'rebooting' | 'failed' | 'complete';
  /** RFC 3339: the first attempt on this machine. */
  readonly since: string;
  readonly attempts: number;
  readonly reboots: number;
  readonly reason?: string;
  /** RFC 3339. */
  readonly nextAttemptAt?: string;
}

/** Undefined = none on this machine, or an unusable record. */
export async function readFirstBoot(
  files: Pick<Files, 'look'>,
): Promise<FirstBootRecord | undefined> {
  const record = await readPrivate(files, FIRST_BOOT_FILE);
  const isWhole = isRecord(record) && typeof record['reboots'] === 'number';
  return isWhole ? (record as unknown as FirstBootRecord) : undefined;
}

export async function writeFirstBoot(files: Files, record: FirstBootRecord): Promise<void> {
  await writePrivate(files, FIRST_BOOT_FILE, JSON.stringify(record));
}
