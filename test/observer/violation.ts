/** What must never happen, by the name of the promise that it breaks. */

/**
 * The promises that an outsider can check (docs/reliability.md): I1 never too many nodes unavailable,
 * I2 nothing left behind on a node, I3 people's cordons and disruption budgets, I4 the bytes on a disk,
 * I5 reboots, I6 nothing waits silently, I7 everybody says the same.
 */
export type Invariant = 'I1' | 'I2' | 'I3' | 'I4' | 'I5' | 'I6' | 'I7';

/** Of the observer itself: it could not look, so nobody knows whether anything is broken. */
export type Fault = Invariant | 'observer';

/** One broken promise. */
export interface Violation {
  readonly invariant: Fault;
  /** When it was seen, ms since the epoch. */
  readonly atMs: number;
  /** The node, pod, pool or app that it is about, or the place that could not be looked at. */
  readonly subject: string;
  /** A sentence that begins with the subject. */
  readonly text: string;
}

/** One line for a person. */
export function describeViolation({ invariant, atMs, text }: Violation): string {
  return `${invariant} ${new Date(atMs).toISOString()} ${text}`;
}
