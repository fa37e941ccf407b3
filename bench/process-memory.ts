import { readFileSync } from 'node:fs';

/**
 * MiB: the present (`VmRSS`) or the greatest (`VmHWM`) resident memory. Undefined without /proc, or
 * without such a process.
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
