/** A pool's drift policy: its RolloutPolicy with defaults. */

import { fail } from '../errors';
import type { RolloutPolicySpec } from '../pool/types';

/** `Report` shows drift; `Repair` lets the host rewrite what needs no reboot, within a limit. */
export interface DriftPolicy {
  readonly mode: 'Report' | 'Repair';
  /** One path is rewritten at most this often within the interval; then it is only reported. */
  readonly limit: number;
  readonly intervalSeconds: number;
}

/** For a pool without a RolloutPolicy: MCO's behaviour. */
export const DEFAULT_DRIFT_POLICY: DriftPolicy = {
  mode: 'Report',
  limit: 3,
  intervalSeconds: 3600,
};

/**
 * @throws `InvalidPolicy` when `drift` is neither Report nor Repair, or a limit is not a whole
 * number of at least 1
 */
export function resolveDriftPolicy(
  spec: Pick<RolloutPolicySpec, 'drift' | 'repair'> | undefined,
): DriftPolicy {
  const mode = spec?.drift ?? DEFAULT_DRIFT_POLICY.mode;
  if (mode !== 'Report' && mode !== 'Repair') {
    throw invalid('drift', mode, 'set Report or Repair');
  }
  return {
    mode,
    limit: atLeastOne('repair.limit', spec?.repair?.limit) ?? DEFAULT_DRIFT_POLICY.limit,
    intervalSeconds:
      atLeastOne('repair.intervalSeconds', spec?.repair?.intervalSeconds) ??
      DEFAULT_DRIFT_POLICY.intervalSeconds,
  };
}

function atLeastOne(field: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= 1)) return value;
  throw invalid(field, value, 'set a whole number of at least 1');
}

function invalid(field: string, value: unknown, fix: string): Error {
  return fail(
    'InvalidPolicy',
    `rolloutpolicy: spec.${field} is ${JSON.stringify(value)}, which is impossible; ${fix}`,
    { field: `spec.${field}` },
  );
}
