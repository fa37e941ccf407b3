import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Opaque; undefined when the process does not exist or is a zombie. Process IDs are reused; ID and
 * start time together are unique.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startTimeFromPs(pid);
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // no such process
  }
  // The command in brackets may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

function startTimeFromPs(pid: number): string | undefined {
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.status === 0 ? ps.stdout.trim() || undefined : undefined;
}

/** Another process with the same ID does not count. */
export function isRunning(pid: number, startTime: string): boolean {
  return startTimeOf(pid) === startTime;
}

/** Undefined when the process does not run. */
export function residentBytes(pid: number): number | undefined {
  const ps = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  if (ps.error === undefined) {
    const kib = Number(ps.stdout.trim());
    return ps.status === 0 && Number.isFinite(kib) && kib > 0 ? kib * 1024 : undefined;
  }
  return residentBytesFromProc(pid);
}

/** For machines without ps. */
function residentBytesFromProc(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
  } catch {
    return undefined; // no such process
  }
}
