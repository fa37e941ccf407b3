import { cut } from '../../../core/encoding/one-line';
import type { Decision } from '../../../core/rollout/decide';
import type { StepResult } from '../../../workflows/contracts/rollout';
import { inParallel } from '../../../core/concurrency-limit';
import type { Seen } from './look';
import type { RequestSaver } from './request-saver';
import type { StepPorts } from './ports';

const BLOCKER_AT_MOST = 500;
const NODES_NAMED = 5;
/** Something is left to be written or started. */
const UNFINISHED_SECONDS = 1;
const PARALLEL = 10;

/** @param isFinished - everything that was decided is written, and all acts are done */
export function resultOf(decision: Decision, seen: Seen, isFinished: boolean): StepResult {
  const { status, granted, lookAgainSeconds, ended } = decision;
  const { config, state, blocker, counts } = status;
  return {
    ...(config === undefined ? {} : { config }),
    state,
    ...(blocker === undefined ? {} : { blocker: cut(blocker, BLOCKER_AT_MOST) }),
    updated: `${counts.updated} of ${counts.machines}`,
    granted: granted.slice(0, NODES_NAMED),
    grantedCount: granted.length,
    ...(ended !== undefined && isFinished ? { ended } : {}),
    lookAgainSeconds: isFinished ? lookAgainSeconds : UNFINISHED_SECONDS,
    versions: seen.versions,
  };
}

/** Its updates are taken back; the rollout ends when none is left. */
export async function withoutPool(
  { nodeUpdates }: Pick<StepPorts, 'nodeUpdates'>,
  saver: RequestSaver,
  { versions }: Seen,
  pool: string,
): Promise<StepResult> {
  const { updates } = await saver.openUpdates(pool);
  const reason = `pool ${pool} was deleted`;
  await inParallel(updates, PARALLEL, ({ node, run }) => nodeUpdates.cancel({ node, run, reason }));
  return {
    state: 'Cancelling',
    blocker: updates.length === 0 ? reason : `${reason}: ${updates.length} updates have to end`,
    updated: '0 of 0',
    ...{ granted: [], grantedCount: 0 },
    ...(updates.length === 0 ? { ended: 'pool deleted' as const } : {}),
    lookAgainSeconds: 10,
    versions,
  };
}
