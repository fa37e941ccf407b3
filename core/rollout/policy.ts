/** How a pool rolls: the person's RolloutPolicy with every default filled in. */

import { fail } from '../errors';
import type { ResolvedPolicy, RolloutPolicySpec } from '../pool/types';

/** What holds for a pool without a RolloutPolicy. */
export const DEFAULT_POLICY: ResolvedPolicy = {
  trigger: 'Automatic',
  canaryNodes: 1,
  failureThreshold: 2,
  drain: { timeoutSeconds: 3600, onTimeout: 'RetryLater' },
  rebootTimeoutSeconds: 1200,
  readySeconds: 10,
  reconnectSeconds: 600,
};

/**
 * Fills the defaults in.
 *
 * @throws `InvalidPolicy` when `failureThreshold` is neither an integer of at least 1 nor a percentage
 * from 1 to 100, or when a count or a number of seconds is negative or not whole
 */
export function resolvePolicy(spec: RolloutPolicySpec | undefined): ResolvedPolicy {
  const { trigger, canary, drain, reboot, verify, prepareAhead, failureThreshold } = spec ?? {};
  return {
    trigger: trigger ?? DEFAULT_POLICY.trigger,
    canaryNodes: whole('canary.nodes', canary?.nodes) ?? DEFAULT_POLICY.canaryNodes,
    failureThreshold: threshold(failureThreshold) ?? DEFAULT_POLICY.failureThreshold,
    drain: {
      timeoutSeconds:
        whole('drain.timeoutSeconds', drain?.timeoutSeconds) ?? DEFAULT_POLICY.drain.timeoutSeconds,
      onTimeout: drain?.onTimeout ?? DEFAULT_POLICY.drain.onTimeout,
      ...optional(
        'gracePeriodSeconds',
        whole('drain.gracePeriodSeconds', drain?.gracePeriodSeconds),
      ),
      ...optional(
        'skipWaitForDeleteTimeoutSeconds',
        whole('drain.skipWaitForDeleteTimeoutSeconds', drain?.skipWaitForDeleteTimeoutSeconds),
      ),
    },
    rebootTimeoutSeconds:
      whole('reboot.timeoutSeconds', reboot?.timeoutSeconds) ?? DEFAULT_POLICY.rebootTimeoutSeconds,
    ...optional('prepareAhead', whole('prepareAhead', prepareAhead)),
    readySeconds: whole('verify.readySeconds', verify?.readySeconds) ?? DEFAULT_POLICY.readySeconds,
    reconnectSeconds:
      whole('verify.reconnectSeconds', verify?.reconnectSeconds) ?? DEFAULT_POLICY.reconnectSeconds,
  };
}

/**
 * The number of failed nodes at which a rollout starts no more: the integer, or the percentage of
 * the pool rounded down; never less than 1.
 */
export function failureLimit(
  policy: Pick<ResolvedPolicy, 'failureThreshold'>,
  machineCount: number,
): number {
  const setting = policy.failureThreshold;
  const limit =
    typeof setting === 'number' ? setting : Math.floor((parseFloat(setting) * machineCount) / 100);
  return Math.max(1, limit);
}

function threshold(value: number | string | undefined): number | string | undefined {
  if (value === undefined) return undefined;
  const valid =
    typeof value === 'number' ? Number.isInteger(value) && value >= 1 : isPercentage(value);
  if (valid) return value;
  throw invalid(
    'failureThreshold',
    value,
    'set an integer of at least 1, or a percentage from "1%" to "100%"',
  );
}

function isPercentage(value: string): boolean {
  const percent = Number(/^([0-9]+)%$/.exec(value)?.[1] ?? NaN);
  return percent >= 1 && percent <= 100;
}

function whole(field: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= 0)) return value;
  throw invalid(field, value, 'set a whole number of at least 0');
}

function invalid(field: string, value: number | string, fix: string): Error {
  return fail(
    'InvalidPolicy',
    `rolloutpolicy: spec.${field} is ${JSON.stringify(value)}, which is impossible; ${fix}`,
    { field: `spec.${field}` },
  );
}

function optional<K extends string, V>(key: K, value: V | undefined): { [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [key in K]?: V });
}
