import { readFileSync } from 'node:fs';

/** `_SC_CLK_TCK` of every Linux. */
const MS_PER_TICK = 10;

/**
 * User and system, in ms, since the process started. Undefined without /proc, or without such a
 * process.
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
  // The command in brackets may contain spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  return Number.isFinite(user + system) ? (user + system) * MS_PER_TICK : undefined;
}
