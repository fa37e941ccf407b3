/** What an observer in a process of its own is told, and what it says: one JSON object a line. */

import type { Seen } from './sight';
import type { TemporalPlace } from './temporal-look';
import type { Violation } from './violation';

/** Everything it needs, as its only argument. */
export interface Assignment {
  readonly kubeconfig: string;
  readonly nodeSelector: string;
  readonly pool: string;
  readonly maxUnavailable?: number;
  readonly minAvailable?: Readonly<Record<string, number>>;
  /** Absent = nobody looks for what waits silently. */
  readonly temporal?: TemporalPlace;
  /** The API server's audit log; absent = who removed what is told from the Node alone. */
  readonly auditLog?: string;
  /** How long a pool may take to be at rest; absent = plenty. */
  readonly restMs?: number;
}

/** What it is told while it watches. */
export type Told =
  /** Judge the pool at rest. */
  | { readonly kind: 'rest' }
  /** Temporal is at another address, in the same namespace. */
  | { readonly kind: 'temporal moved'; readonly address: string };

/** What it has seen so far. */
export interface Summary {
  readonly violations: number;
  readonly maxUnavailableSeen: number;
  readonly evictions: number;
  readonly nodeChanges: number;
  /** How often it could look, and for how long at a time it could not. */
  readonly sight: {
    /** Lists of what runs; absent = it was not told to look there. */
    readonly temporal?: Seen;
    /** Words of its watches, on all of which it listens; quiet ones count as open for 30 s without a word. */
    readonly apiServer: Seen;
  };
}

export type Said =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'violation' } & Violation)
  | ({ readonly kind: 'rest' } & Summary);
