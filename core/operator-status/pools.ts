/** Pools as the status of the system sees them: by their counts and conditions, never by their nodes. */

import { historyOf, isWord } from '../history/record';
import { LABEL, PoolCondition } from '../names';
import { isConditionTrue } from '../pool/conditions';
import type { MachineConfigPool, RolloutPolicy } from '../pool/types';
import { waitForPerson, type PersonWait } from '../rollout';

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

/** The policy of a pool by the name of the pool; undefined = it has none. */
export type PolicyOf = (pool: string) => RolloutPolicy | undefined;

const WAITS: Readonly<Record<PersonWait['reason'], string>> = {
  Paused: 'it is paused',
  RolloutCancelled: 'its rollout was cancelled',
  WaitingForTrigger: 'it waits for a person',
};

export function behindText(pool: MachineConfigPool, policyOf: PolicyOf): string {
  const required = isRequired(pool) ? 'required pool' : 'pool';
  const wait = waitText(pool, policyOf);
  const why = wait === undefined ? '' : `, and ${wait}`;
  return `${required} ${pool.metadata.name} has ${updatedOf(pool)}${why}`;
}

/** It is not done, and stays so until a person acts: `it waits for a person: slipway rollout start master` */
export function waitText(pool: MachineConfigPool, policyOf: PolicyOf): string | undefined {
  const { spec, status } = pool;
  const isDone =
    spec.paused === true ? isUpdated(pool) : (status?.updatedMachineCount ?? 0) >= machines(status);
  if (isDone) return undefined;
  const trigger = policyOf(pool.metadata.name)?.spec?.trigger;
  const wait = waitForPerson(pool, trigger === undefined ? {} : { trigger });
  return wait === undefined ? undefined : `${WAITS[wait.reason]}: ${wait.command}`;
}

/**
 * When a pool that is not updated has taken too long; undefined = that is not known yet. The time in which it waited for a
 * person does not count.
 */
export function overdueAt(pool: MachineConfigPool): number | undefined {
  const { status } = pool;
  const timeOf = (wanted: string, value: string): number | undefined => {
    const found = status?.conditions?.find(({ type }) => type === wanted);
    if (found?.status !== value || found.lastTransitionTime === undefined) return undefined;
    return Date.parse(found.lastTransitionTime);
  };
  const behindAt = timeOf(PoolCondition.UPDATED, 'False');
  if (behindAt === undefined) return undefined;
  // A resumed pool is updating anew, however it was resumed.
  const resumedAt = timeOf(PoolCondition.UPDATING, 'True') ?? behindAt;
  const startedAt = historyOf(pool)
    .records.filter(isWord)
    .flatMap(({ word, at }) => (word === 'start' ? [Date.parse(at)] : []));
  const begunAt = Math.max(behindAt, resumedAt, ...startedAt);
  return begunAt + MACHINE_MS * Math.max(1, machines(status));
}

/** `12 of 200 nodes updated`; what else is wrong, and the config. */
export function poolLine(pool: MachineConfigPool, policyOf: PolicyOf): string {
  const { spec, status } = pool;
  if (status?.machineCount === undefined) return 'not looked at yet';
  const { degradedMachineCount: failed = 0 } = status;
  const config = spec.configuration?.name;
  const wait = waitText(pool, policyOf);
  const words = [
    updatedOf(pool),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(spec.paused === true && wait === undefined ? ['paused'] : []),
    config === undefined || config === '' ? 'no config is rendered' : `config ${config}`,
    ...(isRequired(pool) ? ['required for upgrades'] : []),
  ];
  const degraded = status.conditions?.find(({ type }) => type === PoolCondition.DEGRADED);
  return [
    words.join(', '),
    ...(wait === undefined ? [] : [wait]),
    ...(degraded?.status === 'True' ? [`degraded: ${degraded.message}`] : []),
  ].join('; ');
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
