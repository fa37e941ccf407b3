/** The part of the status that the pool status controller owns. */

import { canonicalJson } from '../../core/machine-config/canonical';
import { PoolCondition } from '../../core/names';
import type { PoolStatus } from '../../core/pool/status';
import type { Condition } from '../../core/object-meta';

/** Without RenderDegraded, which the render controller owns. */
const OWNED = new Set<string>([
  PoolCondition.UPDATED,
  PoolCondition.UPDATING,
  PoolCondition.NODE_DEGRADED,
  PoolCondition.IMAGE_BUILD_DEGRADED,
  PoolCondition.DEGRADED,
  PoolCondition.CONTROL_PLANE_LIMITED,
  PoolCondition.CERTIFICATES_EXPIRING,
]);

type OwnedStatus = Pick<
  PoolStatus,
  | 'observedGeneration'
  | 'configuration'
  | 'machineCount'
  | 'updatedMachineCount'
  | 'readyMachineCount'
  | 'unavailableMachineCount'
  | 'degradedMachineCount'
  | 'certExpirys'
  | 'poolSynchronizersStatus'
  | 'osImageStream'
> & { readonly conditions: readonly Condition[] };

export function ownedStatus(status: PoolStatus | undefined): OwnedStatus {
  const { observedGeneration, configuration, machineCount, updatedMachineCount } = status ?? {};
  const { readyMachineCount, unavailableMachineCount, degradedMachineCount } = status ?? {};
  const { poolSynchronizersStatus, osImageStream } = status ?? {};
  const certExpirys = status?.certExpirys?.length === 0 ? undefined : status?.certExpirys;
  return {
    ...optional({ observedGeneration, configuration, machineCount, updatedMachineCount }),
    ...optional({ readyMachineCount, unavailableMachineCount, degradedMachineCount, certExpirys }),
    ...optional({ poolSynchronizersStatus, osImageStream }),
    conditions: (status?.conditions ?? []).filter(({ type }) => OWNED.has(type)),
  };
}

export function statusDiffers(a: OwnedStatus, b: OwnedStatus): boolean {
  return inOrder(a) !== inOrder(b);
}

/** The API server may change the order of conditions. */
function inOrder(status: OwnedStatus): string {
  const conditions = [...status.conditions].sort((a, b) => (a.type < b.type ? -1 : 1));
  return canonicalJson({ ...status, conditions });
}

function optional<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
