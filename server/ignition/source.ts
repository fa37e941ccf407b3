import type { FirstBootFacts, InsteadBecause } from '../../core/first-boot';
import type { MachineConfig } from '../../core/machine-config/types';
import type { Manifest } from './prepare';

export interface ServedConfig {
  readonly pool: string;
  readonly name: string;
  /** Equal keys mean equal first configs. */
  readonly key: string;
  readonly machineConfig: MachineConfig | Manifest;
  readonly facts: FirstBootFacts;
  /** It replaces a deleted one. */
  readonly instead?: { readonly of: string; readonly because: InsteadBecause };
}

/** Label of the metric, and answer to an admitted machine. */
export type MissingReason =
  | 'unknown-pool'
  | 'no-rendered-config'
  | 'not-ready'
  | 'too-large'
  | 'not-in-this-version'
  | 'unusable-config'
  | 'not-prepared';

/** 404 is final for Ignition; after 5xx it asks again. */
export interface Missing {
  readonly status: 404 | 500 | 503;
  readonly reason: MissingReason;
  readonly message: string;
}

export type Look = { readonly served: ServedConfig } | { readonly missing: Missing };

export interface ConfigSource {
  /** A fault of the pool is an answer, not an error. */
  look(pool: string): Look | Promise<Look>;
  /** Since its data was last confirmed. */
  ageSeconds(): number;
  /** Called with each changed pool. */
  readonly onChange?: (listener: (pool: string) => void) => void;
}

export function missing(
  status: Missing['status'],
  reason: MissingReason,
  message: string,
): { readonly missing: Missing } {
  return { missing: { status, reason, message } };
}
