import type { RolloutProgress } from '../../../workflows/messages';

/** The answer of a rollout that has just begun. */
export function aProgress(change: Partial<RolloutProgress> = {}): RolloutProgress {
  return {
    pool: 'worker',
    config: 'rendered-worker-new',
    state: 'Rolling',
    maxUnavailable: 2,
    machineCount: 1,
    updated: 0,
    slots: [],
    children: [],
    failed: [],
    held: [],
    blocked: [],
    failedCount: 0,
    heldCount: 0,
    blockedCount: 0,
    waitingCount: 0,
    startedAt: '2026-03-01T12:00:00Z',
    reports: [],
    ...change,
  };
}
