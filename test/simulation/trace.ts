/** What happened, in order and readable, and a hash of all of it. */

import { createHash } from 'node:crypto';

/** As many lines as a person reads to understand the end of a run. */
const KEPT = 4_000;

export class Trace {
  /** How many lines there were. */
  count = 0;
  private readonly hash = createHash('sha256');
  private readonly lines: string[] = [];

  constructor(private readonly now: () => number) {}

  add(who: string, what: string): void {
    const line = `${instant(this.now())} ${who}: ${what}`;
    this.count += 1;
    this.hash.update(`${line}\n`);
    this.lines.push(line);
    if (this.lines.length > KEPT * 2) this.lines.splice(0, KEPT);
  }

  /** The last lines, oldest first. */
  last(count: number): readonly string[] {
    return this.lines.slice(-count);
  }

  digest(): string {
    return this.hash.copy().digest('hex');
  }
}

/** `hh:mm:ss.mmm` of virtual time; a run begins at midnight and may last for days. */
function instant(ms: number): string {
  const days = Math.floor(ms / 86_400_000) - Math.floor(START / 86_400_000);
  const time = new Date(ms).toISOString().slice(11, 23);
  return days === 0 ? time : `${days}d ${time}`;
}

/** When every simulation begins. */
export const START = Date.UTC(2026, 0, 1);
