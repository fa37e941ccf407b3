/** Pools as the status of the system sees them: by their counts and conditions, never by their nodes. */

import { LABEL, PoolCondition } from '../names';
import { isConditionTrue } from '../pool/conditions';
import type { MachineConfigPool } from '../pool/types';

/** Of each machine of a required pool: then the pool has taken too long (MCO pkg/operator/sync.go, 7ff337a4). */
const MACHINE_MS = 600_000;

/** An upgrade is not over before all its nodes are updated. */
export function isRequired({ metadata }: MachineConfigPool): boolean {
  return metadata.labels?.[LABEL.REQUIRED_FOR_UPGRADE] !== undefined;
}

export function isDegraded({ status }: MachineConfigPool): boolean {
  return isConditionTrue(status?.conditions, PoolCondition.DEGRADED);
}

export function isUpdating({ status }: MachineConfigPool): boolean {
  return isConditionTrue(status?.conditions, PoolCondition.UPDATING);
}

/** The status is of the present spec, and says so. */
export function isUpdated({ metadata, status }: MachineConfigPool): boolean {
  const isSeen = (metadata.generation ?? 0) <= (status?.observedGeneration ?? 0);
  return isSeen && isConditionTrue(status?.conditions, PoolCondition.UPDATED);
}

/** It holds an upgrade back. */
export function isBehind(pool: MachineConfigPool): boolean {
  return isRequired(pool) && !isUpdated(pool);
}

export function behindText(pool: MachineConfigPool): string {
  const required = isRequired(pool) ? 'required pool' : 'pool';
  return `${required} ${pool.metadata.name} has ${updatedOf(pool)}`;
}

/** When a pool that is not updated has taken too long; undefined = that is not known yet. */
export function overdueAt({ status }: MachineConfigPool): number | undefined {
  const updated = status?.conditions?.find(({ type }) => type === PoolCondition.UPDATED);
  if (updated?.status !== 'False' || updated.lastTransitionTime === undefined) return undefined;
  return Date.parse(updated.lastTransitionTime) + MACHINE_MS * Math.max(1, machines(status));
}

/** `12 of 200 nodes updated`; what else is wrong, and the config. */
export function poolLine(pool: MachineConfigPool): string {
  const { spec, status } = pool;
  if (status?.machineCount === undefined) return 'not looked at yet';
  const { degradedMachineCount: failed = 0 } = status;
  const config = spec.configuration?.name;
  const words = [
    updatedOf(pool),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(spec.paused === true ? ['paused'] : []),
    config === undefined || config === '' ? 'no config is rendered' : `config ${config}`,
    ...(isRequired(pool) ? ['required for upgrades'] : []),
  ];
  const degraded = status.conditions?.find(({ type }) => type === PoolCondition.DEGRADED);
  const reason = degraded?.status === 'True' ? `; degraded: ${degraded.message}` : '';
  return `${words.join(', ')}${reason}`;
}

/** `12 of 200 nodes updated, 2 unavailable` */
function updatedOf({ status }: MachineConfigPool): string {
  const total = machines(status);
  const { updatedMachineCount: updated = 0, unavailableMachineCount: away = 0 } = status ?? {};
  const unavailable = away > 0 ? `, ${away} unavailable` : '';
  return `${updated} of ${total} ${total === 1 ? 'node' : 'nodes'} updated${unavailable}`;
}

function machines(status: MachineConfigPool['status']): number {
  return status?.machineCount ?? 0;
}
