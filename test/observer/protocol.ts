/** One JSON object per line. */

import type { Seen } from './sight';
import type { TemporalPlace } from './temporal-look';
import type { Violation } from './violation';

/** The only argument of the observer. */
export interface Assignment {
  readonly kubeconfig: string;
  readonly nodeSelector: string;
  readonly pool: string;
  readonly maxUnavailable?: number;
  readonly minAvailable?: Readonly<Record<string, number>>;
  /** Absent = silent waits are not looked for. */
  readonly temporal?: TemporalPlace;
  /** Absent = only the Node shows who removed something. */
  readonly auditLog?: string;
  /** Until a pool is at rest. */
  readonly restMs?: number;
}

export type Told =
  | { readonly kind: 'rest' }
  /** In the same namespace. */
  | { readonly kind: 'temporal moved'; readonly address: string };

export interface Summary {
  readonly violations: number;
  readonly maxUnavailableSeen: number;
  readonly evictions: number;
  readonly nodeChanges: number;
  /** Number of looks, and the longest time without one. */
  readonly sight: {
    /** Absent = it was not told to look at Temporal. */
    readonly temporal?: Seen;
    /** Of its watches; a quiet one counts as open for 30 s. */
    readonly apiServer: Seen;
  };
}

export type Said =
  | { readonly kind: 'ready' }
  | ({ readonly kind: 'violation' } & Violation)
  | ({ readonly kind: 'rest' } & Summary);
