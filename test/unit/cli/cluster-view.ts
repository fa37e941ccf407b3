import { PassThrough, Readable } from 'node:stream';
import type {
  ClusterView,
  DoctorConnections,
  StandardStreams,
  SupportConnections,
} from '../../../cli/ports';
import type { PoolRollout, PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import type { StepResult } from '../../../workflows/contracts/rollout';

export function aView(change: Partial<ClusterView> = {}): ClusterView {
  return {
    ...{ pools: [], nodes: [], policies: [] },
    ...{ machineConfigNodes: new Map(), poolRollouts: new Map() },
    ...change,
  };
}

/** Of a rollout that has just begun. */
export function aPoolRollout(change: Partial<PoolRolloutStatus> = {}): PoolRollout {
  return {
    metadata: { name: 'worker' },
    status: {
      config: 'rendered-worker-new',
      startedAt: '2026-03-01T12:00:00Z',
      state: 'Rolling',
      done: '0/1',
      counts: {
        ...{ machines: 1, updated: 0, outOfService: 0, mayBeOut: 2 },
        ...{ waiting: 0, failed: 0, held: 0, blocked: 0 },
      },
      failed: [],
      held: [],
      grants: [],
      ...change,
    },
  };
}

/** The answer of a rollout to a word. */
export function aStepResult(change: Partial<StepResult> = {}): StepResult {
  return {
    state: 'Rolling',
    updated: '0 of 1',
    ...{ granted: [], grantedCount: 0 },
    lookAgainSeconds: 10,
    versions: {},
    ...change,
  };
}

/** Of a command that examines nothing. */
export const NO_SUPPORT: SupportConnections = {
  kube: () => Promise.reject(new Error('nobody collects')),
  temporal: () => Promise.reject(new Error('nobody collects')),
};

export const NO_STREAMS: StandardStreams = {
  in: Readable.from([]),
  out: new PassThrough(),
  err: new PassThrough(),
};

export const NO_DOCTOR: DoctorConnections = {
  cluster: () => Promise.reject(new Error('nobody examines')),
  temporal: () => Promise.reject(new Error('nobody examines')),
};
