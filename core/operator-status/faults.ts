/** What is wrong with the system beside its pools. */

import { POLICY_CONDITION } from '../disruption';
import type { Condition, ObjectMeta } from '../object-meta';
import { TEMPLATES_FAILING } from '../templates';
import { listAt, textAt } from '../values-at';
import { OperatorCondition } from './types';

/** For the condition Degraded. */
export interface Fault {
  /** `MachineConfigurationFailed` */
  readonly reason: string;
  readonly message: string;
  /** Nothing is updated meanwhile, so Slipway is not available. */
  readonly stops?: true;
}

/** As long as MCO waits for one of its own components. */
export const PATIENCE_MS = 600_000;

interface Conditioned {
  readonly metadata: ObjectMeta;
}

/** Absent objects have no fault. */
export function settingFaults(
  controllerConfig: Conditioned | undefined,
  machineConfiguration: Conditioned | undefined,
): readonly Fault[] {
  return [
    ...faultIn(machineConfiguration, POLICY_CONDITION, 'MachineConfigurationFailed'),
    ...faultIn(controllerConfig, TEMPLATES_FAILING, 'MachineConfigControllerFailed').map(
      ({ reason, message }) => ({ reason, message: `the ControllerConfig fails: ${message}` }),
    ),
  ];
}

function faultIn(object: Conditioned | undefined, type: string, reason: string): readonly Fault[] {
  const found = listAt(object, 'status', 'conditions').find(
    (one) => textAt(one, 'type') === type && textAt(one, 'status') === 'True',
  );
  return found === undefined ? [] : [{ reason, message: textAt(found, 'message') ?? '' }];
}

const TEMPORAL_FAILED = 'TemporalFailed';

/** RFC 3339: since when Temporal has been away, as an earlier leader has said it; undefined = it said nothing of it. */
export function temporalSaidAwaySince(said: readonly Condition[] | undefined): string | undefined {
  const found = said?.find(({ type }) => type === OperatorCondition.AVAILABLE);
  if (found?.status !== 'False' || found.reason !== TEMPORAL_FAILED) return undefined;
  const { lastTransitionTime: saidAt } = found;
  return saidAt === undefined
    ? undefined
    : new Date(Date.parse(saidAt) - PATIENCE_MS).toISOString();
}

/** @param since - RFC 3339 @param nowMs - Unix time */
export function temporalFaults(
  waitsFor: readonly string[],
  since: string | undefined,
  nowMs: number,
): readonly Fault[] {
  if (since === undefined || nowMs - Date.parse(since) < PATIENCE_MS) return [];
  const message = `no update runs, since ${since}: waiting for ${waitsFor.join(', ')}`;
  return [{ reason: TEMPORAL_FAILED, message, stops: true }];
}
