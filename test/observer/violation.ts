/** Broken promises by name. */

/**
 * The promises that an outsider can check (docs/reliability.md): I1 never too many nodes
 * unavailable, I2 nothing left behind on a node, I3 people's cordons and disruption budgets, I4 the
 * bytes on a disk, I5 reboots, I6 nothing waits silently, I7 all statuses agree.
 */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7';

/** `observer`: it could not look, so nothing is known. */
export type Fault = Invariant | 'observer';

export interface Violation {
  readonly invariant: Fault;
  /** Ms since the epoch. */
  readonly atMs: number;
  /** The node, pod, pool or app, or the place that could not be looked at. */
  readonly subject: string;
  /** Begins with the subject. */
  readonly text: string;
}

export function describeViolation({ invariant, atMs, text }: Violation): string {
  return `${invariant} ${new Date(atMs).toISOString()} ${text}`;
}
