/** What people tell a rollout. Each word is written first, then stepped on, then answered; one at a time. */

import type { UpdateDefinition } from '@temporalio/common';
import { condition, isCancellation, setHandler } from '@temporalio/workflow';
import { oneLine } from '../../core/encoding/one-line';
import { sentence } from '../../core/errors';
import { explain, refuse } from '../contracts/failures';
import { writeWord } from './activities';
import {
  cancelNodeUpdate,
  pauseUpdate,
  resumeUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  startUpdate,
  type NodeRequest,
  type Reason,
  type StepResult,
  type Word,
} from '../contracts/rollout';
import { ask, type RolloutRun } from './run';

const AN_EXAMPLE = '{"node": "worker-3", "reason": "hardware fault"}';

export function answerWords(run: RolloutRun): void {
  const queue = { next: 0, served: 0 };
  const say = async (word: Word): Promise<StepResult> => {
    try {
      return await inTurn(queue, () => written(run, word));
    } catch (error) {
      if (!isCancellation(error)) throw error;
      throw nonsense('the rollout was cancelled meanwhile');
    }
  };
  const hear = <Request extends Reason>(
    update: UpdateDefinition<StepResult, [Request]>,
    wordOf: (request: Request) => Word,
    validator: (request: Partial<NodeRequest> | undefined) => void,
    description: string,
  ): void => {
    const checked = (request: Partial<NodeRequest> | undefined): void => {
      if (run.isCancelled) throw nonsense(`the rollout of pool ${run.pool} is being cancelled`);
      validator(request);
    };
    const heard = (request: Request) => say({ ...wordOf(request), ...toldOf(request) });
    setHandler(update, heard, { validator: checked, description });
  };

  hear(
    startUpdate,
    () => ({ kind: 'start' }),
    () => undefined,
    'Roll the pool to its config, also where its policy says Manual or a person cancelled it. Example: {}',
  );
  hear(
    pauseUpdate,
    () => ({ kind: 'pause', reason: 'paused' }),
    (request) => {
      if (isBlank(request?.reason)) throw nonsense('say why: {"reason": "change freeze"}');
    },
    'Start no more nodes; nodes under way finish. Example: {"reason": "change freeze"}',
  );
  hear(
    resumeUpdate,
    () => ({ kind: 'resume', reason: 'resumed' }),
    () => undefined,
    'Go on after a pause. Example: {"reason": "freeze is over"}, or {}',
  );
  hear(
    retryNodeUpdate,
    ({ node }) => ({ kind: 'retryNode', node }),
    refuseWithoutNode,
    'Try a failed, skipped or cancelled node again. Example: {"node": "worker-3"}',
  );
  hear(
    skipNodeUpdate,
    ({ node }) => ({ kind: 'skipNode', node, reason: 'no reason given' }),
    refuseWithoutNode,
    `Leave a node out of this config until it is retried; a running update is taken back. Example: ${AN_EXAMPLE}`,
  );
  hear(
    cancelNodeUpdate,
    ({ node }) => ({ kind: 'cancelNode', node, reason: 'no reason given' }),
    refuseWithoutNode,
    `Stop the running update of a node, take the node back and hold it until it is retried. Example: ${AN_EXAMPLE}`,
  );
}

/** In the order in which they were accepted: what is written last stands. */
async function inTurn<T>(
  queue: { next: number; served: number },
  work: () => Promise<T>,
): Promise<T> {
  const mine = queue.next;
  queue.next += 1;
  await condition(() => queue.served === mine);
  try {
    return await work();
  } finally {
    queue.served += 1;
  }
}

async function written(run: RolloutRun, word: Word): Promise<StepResult> {
  try {
    ask(run, await writeWord(run.pool, word));
  } catch (error) {
    if (isCancellation(error)) throw error;
    const failure = explain(error);
    const { name = 'RefusedRequest', reason } = failure;
    throw refuse(name, name === 'RefusedRequest' ? reason : sentence(failure));
  }
  const { asked } = run;
  await condition(() => run.stepped >= asked);
  if (run.last === undefined) throw new Error('bug: a step without a result');
  return run.last;
}

function refuseWithoutNode(request: Partial<NodeRequest> | undefined): void {
  if (isBlank(request?.node)) throw nonsense('name the node: {"node": "worker-3"}');
}

/** The Temporal UI sends whatever a person typed, or nothing. */
function isBlank(text: unknown): text is undefined {
  return typeof text !== 'string' || oneLine(text) === '';
}

/** What was told with it, for the record. */
function toldOf({ reason, by }: Reason = {}): Reason {
  return {
    ...(isBlank(reason) ? {} : { reason: oneLine(reason) }),
    ...(isBlank(by) ? {} : { by: oneLine(by) }),
  };
}

function nonsense(message: string): Error {
  return refuse('RefusedRequest', message);
}
