/**
 * The four conditions of the whole system.
 *
 * Reasons are MCO's where it has one. As in MCO, any degraded pool degrades the system and keeps it from being upgraded.
 *
 * @see MCO pkg/operator/status.go (006209bb), pkg/operator/sync.go, syncRequiredMachineConfigPools (7ff337a4)
 */

import { fewSentences } from '../few';
import type { ConditionValue } from '../pool/conditions';
import type { MachineConfigPool } from '../pool/types';
import { PATIENCE_MS, type Fault } from './faults';
import {
  behindText,
  isBehind,
  isDegraded,
  isUpdating,
  overdueAt,
  waitText,
  type PolicyOf,
} from './pools';
import { OperatorCondition, type Component, type HostWorkers, type OperatorStatus } from './types';

export interface OperatorInput {
  readonly pools: readonly MachineConfigPool[];
  readonly policyOf: PolicyOf;
  readonly components: readonly Component[];
  readonly hostWorkers: HostWorkers;
  /** Beside those of pools and components. */
  readonly faults: readonly Fault[];
  /** Of the leading controllers; the image where they run in a pod. */
  readonly own: { readonly version: string; readonly image: string | undefined };
  /** What was said last; absent = nothing. */
  readonly before: Pick<OperatorStatus, 'conditions' | 'versions'> | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** Another version than that of the leader counts as reached. */
export interface Pending {
  readonly from: string;
  /** What the version waits for. */
  readonly waitsFor: readonly string[];
}

export type Value = ConditionValue<OperatorCondition> & {
  readonly reason: string;
  readonly message: string;
};

const AS_EXPECTED = 'AsExpected';

export function available(input: OperatorInput): Value {
  const type = OperatorCondition.AVAILABLE;
  const stopping = [...input.faults.filter(({ stops }) => stops), ...downFaults(input)];
  const [first] = stopping;
  if (first === undefined) {
    const message = `Slipway ${input.own.version} runs`;
    return { type, status: 'True', reason: AS_EXPECTED, message };
  }
  const message = fewSentences(stopping.map((fault) => fault.message));
  return { type, status: 'False', reason: first.reason, message };
}

export function progressing(input: OperatorInput, pending: Pending | undefined): Value {
  const { pools, policyOf, own } = input;
  const type = OperatorCondition.PROGRESSING;
  if (pending !== undefined) {
    const message = `from ${pending.from} to ${own.version}: ${fewSentences(pending.waitsFor)}`;
    return { type, status: 'True', reason: 'VersionChanging', message };
  }
  const updating = pools.filter(isUpdating);
  if (updating.length > 0) {
    const message = fewSentences(updating.map((pool) => behindText(pool, policyOf)));
    return { type, status: 'True', reason: 'PoolUpdating', message };
  }
  return { type, status: 'False', reason: AS_EXPECTED, message: `the version is ${own.version}` };
}

/** As in MCO, the reason is that of the first fault. */
export function degraded(input: OperatorInput): Value {
  const type = OperatorCondition.DEGRADED;
  const faults = [...input.faults, ...downFaults(input), ...poolFaults(input)];
  const [first] = faults;
  if (first === undefined) return { type, status: 'False', reason: AS_EXPECTED, message: '' };
  const message = fewSentences(faults.map((fault) => fault.message));
  return { type, status: 'True', reason: first.reason, message };
}

export function upgradeable({ pools, policyOf }: OperatorInput): Value {
  const type = OperatorCondition.UPGRADEABLE;
  const no = (reason: string, found: readonly string[], fix: string): Value => {
    return { type, status: 'False', reason, message: `${fewSentences(found)}; ${fix}` };
  };
  const text = (pool: MachineConfigPool): string => behindText(pool, policyOf);
  const broken = pools.filter(isDegraded);
  if (broken.length > 0) {
    const found = broken.map(({ metadata: { name } }) => `pool ${name} is degraded`);
    return no('DegradedPool', found, 'mend it before you upgrade: kubectl describe mcp');
  }
  const updating = pools.filter(isUpdating);
  if (updating.length > 0) {
    return no('PoolUpdating', updating.map(text), 'upgrade when its nodes are updated');
  }
  const behind = pools.filter(isBehind);
  if (behind.length > 0) {
    const fix = 'an upgrade requires that its nodes are updated';
    return no('RequiredPoolNotUpdated', behind.map(text), fix);
  }
  return { type, status: 'True', reason: AS_EXPECTED, message: '' };
}

/**
 * As in MCO, any degraded pool, and a required one that is paused or takes too long. One that was never started, or was
 * cancelled, has no fault.
 */
function poolFaults({ pools, policyOf, now }: OperatorInput): readonly Fault[] {
  const nowMs = Date.parse(now);
  return pools.flatMap((pool) => {
    const text = poolFault(pool, policyOf, nowMs);
    return text === undefined ? [] : [{ reason: 'RequiredPoolsFailed', message: text }];
  });
}

function poolFault(pool: MachineConfigPool, policyOf: PolicyOf, nowMs: number): string | undefined {
  const { name } = pool.metadata;
  if (isDegraded(pool)) {
    const said = pool.status?.conditions?.find(({ type }) => type === OperatorCondition.DEGRADED);
    return `pool ${name} is degraded: ${said?.message ?? ''}`;
  }
  if (!isBehind(pool)) return undefined;
  if (pool.spec.paused === true) return behindText(pool, policyOf);
  if (waitText(pool, policyOf) !== undefined) return undefined;
  const at = overdueAt(pool);
  return at !== undefined && at <= nowMs
    ? `${behindText(pool, policyOf)}, for too long`
    : undefined;
}

const FAILED: Readonly<Record<string, string>> = {
  'cluster-worker': 'ClusterWorkerFailed',
  // Those of MCO's components that do the same.
  controllers: 'MachineConfigControllerFailed',
  server: 'MachineConfigServerFailed',
};

function downFaults({ components, now }: OperatorInput): readonly Fault[] {
  return components.flatMap(({ name, replicas, downSince }) => {
    if (downSince === undefined) return [];
    if (Date.parse(now) - Date.parse(downSince) < PATIENCE_MS) return [];
    const reason = FAILED[name] ?? 'ComponentFailed';
    const look = `kubectl -n slipway describe pods -l app.kubernetes.io/name=slipway-${name}`;
    return [
      {
        reason,
        message: `no replica of ${name} is ready, of ${replicas}, since ${downSince}: ${look}`,
      },
    ];
  });
}

/** What a person has to know first. */
export function summary(values: readonly Value[]): string {
  const alarming = [
    values.find(({ type, status }) => type === OperatorCondition.DEGRADED && status === 'True'),
    values.find(({ type, status }) => type === OperatorCondition.AVAILABLE && status === 'False'),
    values.find(({ type, status }) => type === OperatorCondition.PROGRESSING && status === 'True'),
    values.find(({ type, status }) => type === OperatorCondition.UPGRADEABLE && status === 'False'),
  ];
  return alarming.find((value) => value !== undefined)?.message ?? 'all is as expected';
}
