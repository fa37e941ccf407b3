/** Distinguishes a dead connection from an absent Temporal. */

export interface Silence {
  /** The last answer, in milliseconds. */
  readonly sinceMs: number;
  /** Another connection with the same settings got an answer at the last try. */
  readonly isOtherAnswered: boolean;
}

/** gRPC's longest wait between two tries: a connection recovers within it, or never. */
const DEAD_MS = 120_000;

/** Another connection shows whether Temporal or this connection is dead. */
export function isOtherWorthATry(silence: Silence | undefined, nowMs: number): boolean {
  return silence !== undefined && nowMs - silence.sinceMs >= DEAD_MS;
}

/** Only a new process helps. In an outage of Temporal no connection gets an answer. */
export function isDead(silence: Silence | undefined, nowMs: number): boolean {
  return isOtherWorthATry(silence, nowMs) && silence?.isOtherAnswered === true;
}
