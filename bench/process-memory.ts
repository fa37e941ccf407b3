import { readFileSync } from 'node:fs';

/**
 * In MiB: the present (`VmRSS`) or the greatest (`VmHWM`) resident memory; no sample can miss the latter.
 * Undefined where there is no /proc, or no such process.
 */
export function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): number | undefined {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return undefined; // no such process, or not Linux
  }
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  return kib === undefined ? undefined : Number(kib) / 1024;
}
