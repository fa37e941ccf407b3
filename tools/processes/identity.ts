import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * When a process started, as an opaque string, or undefined when there is no such process (or only
 * its zombie). A process id is used again after its process ends; the two together are not.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startTimeFromPs(pid);
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // no such process
  }
  // The second field, the command in brackets, may hold spaces and brackets itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

function startTimeFromPs(pid: number): string | undefined {
  const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
  return ps.status === 0 ? ps.stdout.trim() || undefined : undefined;
}

/** Whether this very process, and not another one with the same id, still runs. */
export function isRunning(pid: number, startTime: string): boolean {
  return startTimeOf(pid) === startTime;
}

/** Resident memory of a process in bytes, or undefined when it does not run. */
export function residentBytes(pid: number): number | undefined {
  const ps = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' });
  if (ps.error === undefined) {
    const kib = Number(ps.stdout.trim());
    return ps.status === 0 && Number.isFinite(kib) && kib > 0 ? kib * 1024 : undefined;
  }
  return residentBytesFromProc(pid);
}

/** For machines without ps, as minimal container images are. */
function residentBytesFromProc(pid: number): number | undefined {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return match?.[1] === undefined ? undefined : Number(match[1]) * 1024;
  } catch {
    return undefined; // no such process
  }
}
