/** What an observer in a process of its own is told, and what it says: one JSON object a line. */

import type { Violation } from './violation';

/** Everything it needs, as its only argument. */
export interface Assignment {
  readonly kubeconfig: string;
  readonly nodeSelector: string;
  readonly pool: string;
  readonly maxUnavailable?: number;
  readonly minAvailable?: Readonly<Record<string, number>>;
  /** Absent = nobody looks for what waits silently. */
  readonly temporal?: { readonly address: string; readonly namespace: string };
  /** The API server's audit log; absent = who removed what is told from the Node alone. */
  readonly auditLog?: string;
  /** How long a pool may take to be at rest; absent = plenty. */
  readonly restMs?: number;
}

/** What it has seen so far. */
export interface Summary {
  readonly violations: number;
  readonly maxUnavailableSeen: number;
  readonly evictions: number;
  readonly nodeChanges: number;
}

export type Said =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'violation' } & Violation)
  | ({ readonly kind: 'rest' } & Summary);
