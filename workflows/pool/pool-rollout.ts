/** The rollout of one pool: steps, until every node is on the config. It remembers a flag and a version. */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  log,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { poolRolloutId } from '../../core/names';
import { refuse } from '../contracts/failures';
import { SEARCH_ATTRIBUTE } from '../contracts/search-attributes';
import { brief } from '../contracts/timeouts';
import { step, writeWord } from './activities';
import {
  progressQuery,
  wakeSignal,
  type PoolRolloutInput,
  type StepResult,
} from '../contracts/rollout';
import { detailsOf, summaryOf } from './shown';
import { newest, readVersions } from './versions';
import { ask, type RolloutRun } from './run';
import { answerWords } from './words';

/**
 * Rolls a pool to its rendered config. Runs as `pool-rollout/<pool>`: at most one per pool. Every decision is one
 * activity, `step`, which reads and writes PoolRollout/<pool>. Hears `wake`; answers `progress`; takes the updates
 * `start`, `pause`, `resume`, `retryNode`, `skipNode` and `cancelNode`.
 *
 * Cancelling it takes back every node that is not past its point of no return, waits for the others, and remembers on
 * the pool that this config was cancelled.
 *
 * @returns the last step's summary: every node is on the config, or the rollout is cancelled or not started
 * @throws `WrongWorkflowId` or `RefusedRequest` at once; `ObjectNotFound` when the pool is deleted
 */
export async function poolRollout(input: PoolRolloutInput): Promise<StepResult> {
  refuseWrongStart(input);
  const { pool, goesOn } = input;
  const run: RolloutRun = {
    ...{ pool, asked: 1, stepped: 0, last: undefined },
    atLeast: goesOn?.atLeast ?? {},
    isCancelled: false,
  };
  setHandler(progressQuery, () => run.last, { description: 'The last step of the rollout' });
  setHandler(wakeSignal, (news: unknown) => ask(run, readVersions(news)), {
    description: 'Something in the pool changed: look again',
  });
  answerWords(run);
  try {
    const isWanted = goesOn === undefined && input.isWoken !== true;
    if (isWanted) await writeDown(run, 'start');
    return await untilEnded(run);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    run.isCancelled = true;
    await CancellationScope.nonCancellable(async () => {
      await writeDown(run, 'cancel');
      await untilEnded(run);
    });
    throw error;
  }
}

async function untilEnded(run: RolloutRun): Promise<StepResult> {
  let unshown: string | undefined;
  for (;;) {
    const { asked } = run;
    const result = await stepOf(run, unshown);
    show(run, result);
    run.last = result;
    run.stepped = asked;
    if (result.ended !== undefined && run.asked === asked) {
      // A word that is being written asks for one step more.
      await condition(() => allHandlersFinished() || run.asked !== asked);
      if (run.asked === asked) return endOf(run, result);
    }
    if (mayGoOnAnew(run)) await goOn(run);
    const summary = brief(summaryOf(result));
    // A timer that is over at once is in no history.
    unshown = run.asked === asked ? undefined : summary;
    if (unshown !== undefined) continue;
    await condition(() => run.asked !== asked, result.lookAgainSeconds * 1000, { summary });
  }
}

/** What a step has seen is asked of the next one, and what was told meanwhile. */
async function stepOf(run: RolloutRun, unshown: string | undefined): Promise<StepResult> {
  const { pool, atLeast, isCancelled } = run;
  run.atLeast = {};
  try {
    const input = { pool, atLeast, ...(isCancelled ? { isCancelled } : {}) };
    const result = await step(input, unshown);
    run.atLeast = newest(run.atLeast, result.versions);
    return result;
  } catch (error) {
    run.atLeast = newest(run.atLeast, atLeast);
    throw error;
  }
}

/** A pool that is gone cannot remember it: then the next step says so, and takes its nodes back. */
async function writeDown(run: RolloutRun, kind: 'start' | 'cancel'): Promise<void> {
  try {
    ask(run, await writeWord(run.pool, { kind }));
  } catch (error) {
    if (isCancellation(error)) throw error;
    log.warn('the pool does not remember what a person said', { kind, error });
  }
}

/** A word that is being written waits for a step of this run, and only this run can end as cancelled. */
function mayGoOnAnew({ isCancelled }: RolloutRun): boolean {
  return workflowInfo().continueAsNewSuggested && allHandlersFinished() && !isCancelled;
}

async function goOn({ pool, atLeast }: RolloutRun): Promise<void> {
  await continueAsNew<typeof poolRollout>({ pool, goesOn: { atLeast } });
}

function endOf({ pool }: RolloutRun, result: StepResult): StepResult {
  const outcome = result.ended === 'pool deleted' ? 'failed' : (result.ended ?? 'completed');
  upsertSearchAttributes([{ key: SEARCH_ATTRIBUTE.outcome, value: outcome }]);
  if (outcome !== 'failed') return result;
  throw refuse('ObjectNotFound', `machineconfigpool ${pool} does not exist`);
}

function show({ last, pool }: RolloutRun, result: StepResult): void {
  const { config } = result;
  if (config !== undefined && config !== last?.config) {
    upsertSearchAttributes([
      { key: SEARCH_ATTRIBUTE.pool, value: pool },
      { key: SEARCH_ATTRIBUTE.config, value: config },
    ]);
  }
  setCurrentDetails(detailsOf(pool, result));
}

function refuseWrongStart(input: Partial<PoolRolloutInput> | undefined): void {
  const { workflowId } = workflowInfo();
  const pool = input?.pool;
  if (typeof pool !== 'string' || pool === '') {
    throw refuse('RefusedRequest', 'name the pool in the input: {"pool": "worker"}');
  }
  const right = poolRolloutId(pool);
  if (workflowId === right) return;
  throw refuse(
    'WrongWorkflowId',
    `the rollout of pool ${pool} runs as ${right}, not as ${workflowId}: start it with that workflow ID, so that a pool never has two`,
  );
}
