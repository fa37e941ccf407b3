/**
 * What a rollout answers, and what it refuses with a sentence. Validators see only what the
 * rollout knows; what needs the cluster is checked by the handler.
 */

import { setHandler } from '@temporalio/workflow';
import type { ApplicationFailure } from '@temporalio/workflow';
import { isRenderedNameOf } from '../core/names';
import { POOL, type AcceptedWord } from './accepted-words';
import {
  clusterChangedSignal,
  nodeFinishedSignal,
  pauseUpdate,
  preparedSignal,
  progressQuery,
  resumeUpdate,
  retargetUpdate,
  type NodeReport,
  type Prepared,
  type Reason,
  type RolloutAnswer,
} from './messages';
import { answerNodeRequests } from './node-requests';
import { setPoolPaused } from './pool-steps';
import { because, failed, isBlank, nonsense, reasonOf, refuseWhileEnding } from './requests';
import { answerOf, progressOf } from './rollout-progress';
import type { Rollout } from './rollout-state';
import { hear, readNodeReport, readPrepared, readVersions } from './signal-payloads';
import { ROLLOUT_LIMITS } from './contracts/timeouts';

/** As much of a wrong name as a sentence repeats. */
const SHOWN_OF_A_NAME = 100;

/** Registers every message. Called before the first wait, so that none is missed. */
export function answerRolloutMessages(rollout: Rollout): void {
  setHandler(progressQuery, () => progressOf(rollout), {
    description: 'State of the rollout: counts, slots, nodes under way, what it waits for',
  });
  hearUpdates(rollout);
  answerPause(rollout);
  answerNodeRequests(rollout);
  setHandler(
    retargetUpdate,
    (request) => {
      rollout.expect(request.config, readVersions(request));
      return answerOf(rollout);
    },
    {
      description: 'Look at the configuration of the pool now. Example: {"config": "rendered-…"}',
      validator: (request: { readonly config?: string } | undefined) => {
        refuseWhileEnding(rollout);
        const config = request?.config;
        if (isBlank(config)) throw nonsense('name the config: {"config": "rendered-…"}');
        if (!isRenderedNameOf(rollout.pool, config)) throw notRendered(rollout, config);
      },
    },
  );
}

function hearUpdates(rollout: Rollout): void {
  hear(
    nodeFinishedSignal,
    readNodeReport,
    (report) => hearReport(rollout, report),
    'From a node update: how it ended',
  );
  hear(
    preparedSignal,
    readPrepared,
    (prepared) => hearPrepared(rollout, prepared),
    'From a node update: it is ready for its slot',
  );
  // Whatever its payload is: to look again does no harm.
  setHandler(clusterChangedSignal, (news: unknown) => rollout.lookAgain(readVersions(news)), {
    description: 'Something in the pool changed: look again',
  });
}

/** An update that is asked where it stands while it reports its end answers both at once. */
function hearPrepared(rollout: Rollout, prepared: Prepared): void {
  if (rollout.hasReported(prepared.node)) return;
  // On a slow Temporal it may arrive minutes after the report, also in a later run of the rollout.
  if (rollout.hasEnded(prepared.runId)) return;
  rollout.prepared(prepared);
}

function hearReport(rollout: Rollout, report: NodeReport): void {
  const isStillAsked = rollout.isToBeTriedAfter(report);
  rollout.finished(report);
  if (isStillAsked) rollout.tryAgain(report.node);
}

function answerPause(rollout: Rollout): void {
  const { words } = rollout;
  const pause = (request: Reason) =>
    words.accept(POOL, 'pause', (word) => changePause(rollout, word, reasonOf(request, 'paused')));
  setHandler(pauseUpdate, pause, {
    description:
      'Start no more nodes; nodes under way finish. Example: {"reason": "change freeze"}',
    validator: (request: Partial<Reason> | undefined) => {
      refuseWhileEnding(rollout);
      if (isBlank(request?.reason)) {
        throw nonsense('say why: {"reason": "change freeze"}');
      }
      const { paused, reason } = rollout.paused();
      if (paused) throw nonsense(`pool ${rollout.pool} is already paused${because(reason)}`);
    },
  });
  const resume = (request: Partial<Reason>) =>
    words.accept(POOL, 'resume', (word) =>
      changePause(rollout, word, reasonOf(request, 'resumed')),
    );
  setHandler(resumeUpdate, resume, {
    description: 'Go on after a pause. Example: {"reason": "freeze is over"}, or {}',
    validator: (_request) => {
      refuseWhileEnding(rollout);
      // Before its first look it does not know; the pool itself then says whether there is a pause to end.
      if (rollout.view === undefined) return;
      if (!rollout.paused().paused) throw nonsense(`pool ${rollout.pool} is not paused`);
    },
  });
}

/** Acts at once, then writes it on the pool, which is where it is remembered. */
async function changePause(
  rollout: Rollout,
  word: AcceptedWord,
  reason: string,
): Promise<RolloutAnswer> {
  const paused = word.meaning === 'pause';
  const ends = paused ? undefined : pauseToEnd(rollout);
  const isLater = word.waits;
  const forMs = word.place * ROLLOUT_LIMITS.setPoolPaused.total * 1000;
  rollout.wishPaused(paused, reason, { isLater, forMs });
  try {
    if (isLater) await word.turn();
    await setPoolPaused(rollout.pool, paused, reason, ends);
    rollout.pauseIsWritten(paused, reason);
    if (word.stands()) rollout.wishPaused(paused, reason, { isLater });
  } catch (error) {
    if (word.stands()) rollout.takePauseBack();
    throw failed(`${paused ? 'pause' : 'resume'} pool ${rollout.pool}`, error);
  }
  return answerOf(rollout);
}

/** The pause that the person saw; undefined = whichever there is, because none was seen yet. */
function pauseToEnd(rollout: Rollout): { readonly reason?: string } | undefined {
  const { paused, reason } = rollout.paused();
  if (!paused) return undefined;
  return reason === undefined ? {} : { reason };
}

function notRendered({ pool }: Rollout, config: string): ApplicationFailure {
  return nonsense(
    `${config.slice(0, SHOWN_OF_A_NAME)} is not a rendered config of pool ${pool}: ` +
      `name one that is called rendered-${pool}-<hash>`,
  );
}
