/** When a connection to Temporal is dead, and not Temporal. */

/** A connection that does not answer. */
export interface Silence {
  /** When it answered last, in milliseconds. */
  readonly sinceMs: number;
  /** Another connection, made with the same settings, was answered when it was last tried. */
  readonly isOtherAnswered: boolean;
}

/** A connection mends itself within this time, if it does at all: as long as gRPC waits between two tries. */
export const DEAD_MS = 120_000;

/** Whether to try another connection: only that tells whether Temporal is away or this one is dead. */
export function isOtherWorthATry(silence: Silence | undefined, nowMs: number): boolean {
  return silence !== undefined && nowMs - silence.sinceMs >= DEAD_MS;
}

/** Whether only a new process helps. An outage of Temporal is none: nobody is answered then. */
export function isDead(silence: Silence | undefined, nowMs: number): boolean {
  return isOtherWorthATry(silence, nowMs) && silence?.isOtherAnswered === true;
}
