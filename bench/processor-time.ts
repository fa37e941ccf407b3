import { readFileSync } from 'node:fs';

/** `_SC_CLK_TCK` of every Linux: the unit in which the kernel reports to programs, whatever its own tick is. */
const MS_PER_TICK = 10;

/**
 * Processor time that a process has used since it started, user and system, in ms. Undefined where there is no
 * /proc, or no such process.
 */
export function processorMs(pid: number): number | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined; // no such process, or not Linux
  }
  return processorMsIn(stat);
}

export function processorMsIn(stat: string): number | undefined {
  // The second field, the command in brackets, may itself contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return Number.isFinite(user + system) ? (user + system) * MS_PER_TICK : undefined;
}
