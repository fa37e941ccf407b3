/** The workflow of a rollout on a real Temporal server; its activities are scripted. */

import { WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { CLUSTER_QUEUE, poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { startByPerson } from '../../process/temporal/start-rollout';
import {
  cancelNodeUpdate,
  pauseUpdate,
  progressQuery,
  resumeUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  startUpdate,
  wakeSignal,
  type PoolRolloutInput,
  type Reason,
  type StepResult,
} from '../../workflows/contracts/rollout';
import type { poolRollout } from '../../workflows/pool/pool-rollout';
import { containing } from './support/containing';
import { latch } from './support/gates';
import type { Script } from './support/script';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
/** Its server suggests a new run after a few events. */
let newRuns: TestTemporal;
beforeAll(async () => {
  [temporal, newRuns] = await Promise.all([
    startTestTemporal(),
    startTestTemporal({ dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 20 } }),
  ]);
}, 180_000);
afterAll(async () => {
  await temporal.stop();
  await newRuns.stop();
}, 60_000);

interface Rollout {
  readonly script: Script;
  readonly handle: WorkflowHandle<typeof poolRollout>;
}

function rolloutOf(pool: string, { client, script } = temporal): Rollout {
  const handle = client.workflow.getHandle<typeof poolRollout>(poolRolloutId(pool));
  return { script: script(pool), handle };
}

/** As the Temporal UI does it for a person. */
async function start(
  input: PoolRolloutInput | undefined,
  { workflowId = poolRolloutId(input?.pool ?? ''), on = temporal } = {},
): Promise<Rollout> {
  await on.client.workflow.start<typeof poolRollout>('poolRollout', {
    ...{ taskQueue: CLUSTER_QUEUE, workflowId },
    args: [input as PoolRolloutInput],
  });
  const handle = on.client.workflow.getHandle<typeof poolRollout>(workflowId);
  return { script: on.script(input?.pool ?? ''), handle };
}

/** As a controller or an activity does it that has news. */
async function wake(pool: string): Promise<Rollout> {
  await new RolloutWaker(temporal.client.workflow).wake(pool, { nodes: 3 });
  return rolloutOf(pool);
}

function kindsOf({ words }: Script): readonly string[] {
  return words.map(({ kind }) => kind);
}

function refused(name: string, message: string) {
  return () => {
    throw ApplicationFailure.nonRetryable(message, name);
  };
}

describe('a rollout that a person starts', () => {
  it('writes that down, steps until it is over, and says how it ended', async () => {
    temporal.script('ends').answer = (_, times) =>
      times < 2 ? { lookAgainSeconds: 0.01 } : { state: 'Completed', ended: 'completed' };
    const { handle, script } = await start({ pool: 'ends' });

    expect(await handle.result()).toMatchObject({ state: 'Completed' });
    expect(script.words).toEqual([{ kind: 'start' }]);
    expect((await handle.describe()).searchAttributes).toMatchObject({
      ...{ SlipwayPool: ['ends'], SlipwayConfig: ['rendered-x'], SlipwayOutcome: ['completed'] },
    });
  });

  it('answers with a step that shows it', async () => {
    const { script, handle } = rolloutOf('by-person');
    script.onWord = () => 42;
    script.answer = ({ atLeast }) => ({ updated: `${atLeast?.pools ?? 0} of 42` });

    const answer = await startByPerson(temporal.client.workflow, 'by-person', {});

    expect(answer.updated).toBe('42 of 42');
    expect(new Set(kindsOf(script))).toEqual(new Set(['start']));
    await handle.terminate();
  });

  it.each([
    ['under another workflow ID', { pool: 'mine' }, 'my-rollout', 'WrongWorkflowId'],
    ['without a pool', undefined, 'pool-rollout/', 'RefusedRequest'],
  ] as const)('is refused %s', async (_how, input, workflowId, type) => {
    const { handle } = await start(input, { workflowId });

    await expect(handle.result()).rejects.toMatchObject({ cause: { type } });
  });

  it('for a pool that does not exist says so', async () => {
    const missing = 'machineconfigpool nowhere does not exist';
    const { script, handle } = rolloutOf('nowhere');
    script.onWord = refused('ObjectNotFound', missing);
    script.answer = () => ({ ended: 'pool deleted' });

    const started = startByPerson(temporal.client.workflow, 'nowhere', {});

    await expect(started).rejects.toMatchObject({ cause: { message: containing(missing) } });
    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'ObjectNotFound' } });
  });
});

describe('a rollout that news start', () => {
  it('writes no start, and looks for what it was woken for', async () => {
    temporal.script('by-news').answer = () => ({ state: 'Completed', ended: 'completed' });
    const { script, handle } = await wake('by-news');

    await handle.result();
    expect(script.words).toEqual([]);
    expect(script.steps[0]).toEqual({ pool: 'by-news', atLeast: { nodes: 3 } });
  });

  it('ends at once where a person has to start it', async () => {
    temporal.script('manual').answer = () => ({ state: 'Blocked', ended: 'not started' });
    const { handle, script } = await wake('manual');

    expect(await handle.result()).toMatchObject({ ended: 'not started' });
    expect(script.steps).toHaveLength(1);
    expect((await handle.describe()).searchAttributes).toMatchObject({
      SlipwayOutcome: ['not started'],
    });
  });

  it('can be started by a person, too', async () => {
    const { script, handle } = await wake('woken-first');
    await script.untilSteps(1);

    await startByPerson(temporal.client.workflow, 'woken-first', {});

    expect(kindsOf(script)).toEqual(['start']);
    await handle.terminate();
  });
});

describe('a rollout that is woken', () => {
  it('steps at once, with what must be seen, and never sees less again', async () => {
    temporal.script('woken').answer = ({ atLeast }) => ({ versions: { nodes: 10, ...atLeast } });
    const { script, handle } = await wake('woken');
    await script.untilSteps(1);
    await handle.signal(wakeSignal, { atLeast: { nodes: 17, pools: 3 } });
    await script.untilSteps(2);
    await handle.signal(wakeSignal, { atLeast: { nodes: 12 } });
    await script.untilSteps(3);

    expect(script.steps.map(({ atLeast }) => atLeast)).toEqual([
      { nodes: 3 },
      { nodes: 17, pools: 3 },
      { nodes: 17, pools: 3 },
    ]);
    await handle.terminate();
  });

  it('looks again whatever nonsense it is woken with', async () => {
    const { script, handle } = await wake('nonsense');
    await script.untilSteps(1);
    const nonsense: readonly unknown[] = [
      ...['text', null, 7, [], {}, { atLeast: null }, { atLeast: [9] }],
      ...[{ atLeast: { nodes: '99' } }, { atLeast: { nodes: -1, pools: 1e300, policies: 1.5 } }],
      { atLeast: { unknown: 99 } },
    ];
    for (const [sent, payload] of nonsense.entries()) {
      await handle.signal(wakeSignal, payload as never);
      await script.untilSteps(sent + 2);
    }
    await handle.signal('wake');
    await script.untilSteps(nonsense.length + 2);

    expect(script.steps.at(-1)?.atLeast).toEqual({ nodes: 10 });
    await handle.terminate();
  });

  it('steps once more when that was during the step that ended it', async () => {
    const { script } = rolloutOf('late');
    script.answer = async (_, times) => {
      const { handle } = rolloutOf('late');
      if (times === 1) await handle.signal(wakeSignal, { atLeast: { pools: 9 } });
      return { ended: 'completed' };
    };
    const { handle } = await start({ pool: 'late' });

    await handle.result();
    expect(script.steps).toHaveLength(2);
    expect(script.steps[1]?.atLeast).toMatchObject({ pools: 9 });
  });
});

describe('the words of people', () => {
  it('are written, stepped on, and answered with that step', async () => {
    const { script, handle } = await start({ pool: 'paused' });
    await script.untilSteps(1);
    script.onWord = () => 42;
    script.answer = ({ atLeast }) => ((atLeast?.pools ?? 0) >= 42 ? { state: 'Paused' } : {});

    const answer = await handle.executeUpdate(pauseUpdate, {
      args: [{ reason: 'freeze', by: 'ada' }],
    });

    expect(answer.state).toBe('Paused');
    expect(script.words.at(-1)).toEqual({ kind: 'pause', reason: 'freeze', by: 'ada' });
    expect(await handle.query(progressQuery)).toMatchObject({ state: 'Paused' });
    await handle.terminate();
  });

  it('name their node and their reason', async () => {
    const { script, handle } = await wake('named');
    const node = 'worker-3';
    await handle.executeUpdate(skipNodeUpdate, { args: [{ node, reason: 'hardware\nfault' }] });
    await handle.executeUpdate(retryNodeUpdate, { args: [{ node, reason: 'repaired' }] });
    await handle.executeUpdate(cancelNodeUpdate, { args: [{ node, by: 'ada' }] });

    expect(script.words).toEqual([
      { kind: 'skipNode', node, reason: 'hardware fault' },
      { kind: 'retryNode', node, reason: 'repaired' },
      { kind: 'cancelNode', node, reason: 'no reason given', by: 'ada' },
    ]);
    await handle.terminate();
  });

  it('are written one after the other, in the order in which they were heard', async () => {
    const { script, handle } = await start({ pool: 'ordered' });
    await script.untilSteps(1);
    const written = latch();
    script.onWord = async ({ kind }) => {
      if (kind === 'pause') await written.promise;
      return 0;
    };
    await handle.startUpdate(pauseUpdate, { args: [{ reason: 'a' }], waitForStage: 'ACCEPTED' });
    const resumed = handle.executeUpdate(resumeUpdate, { args: [{}] });
    written.resolve();
    await resumed;

    expect(kindsOf(script)).toEqual(['start', 'pause', 'resume']);
    await handle.terminate();
  });

  it.each([
    ['without a reason', () => ({ update: pauseUpdate, request: { reason: ' ' } }), 'say why'],
    ['without a node', () => ({ update: retryNodeUpdate, request: {} }), 'name the node'],
  ])('are refused %s', async (what, word, says) => {
    const { handle } = await start({ pool: `refuses-${what.slice(-4)}` });
    const { update, request } = word();
    const answer = handle.executeUpdate(update as typeof pauseUpdate, { args: [request] });

    await expect(answer).rejects.toMatchObject({ cause: { message: containing(says) } });
    await handle.terminate();
  });

  it('that could not be written are answered with the reason', async () => {
    const { script, handle } = await start({ pool: 'unwritten' });
    await script.untilSteps(1);
    const why = 'worker-3 is neither failed nor held';
    script.onWord = refused('RefusedRequest', why);

    await expect(
      handle.executeUpdate(retryNodeUpdate, { args: [{ node: 'worker-3' }] }),
    ).rejects.toMatchObject({ cause: { type: 'RefusedRequest', message: why } });
    await handle.terminate();
  });

  it('that come with the step that ends the rollout are answered by one step more', async () => {
    const { script } = rolloutOf('last-word');
    const paused = latch();
    let answer: Promise<StepResult> | undefined;
    script.onWord = async () => {
      await paused.promise;
      return 42;
    };
    script.answer = async ({ atLeast }, times) => {
      if (times === 1) {
        const { handle } = rolloutOf('last-word');
        const said = await handle.startUpdate(pauseUpdate, {
          ...{ args: [{ reason: 'freeze' }] as [Reason], waitForStage: 'ACCEPTED' as const },
        });
        answer = said.result();
        setImmediate(paused.resolve);
      }
      return { ended: 'completed', updated: `${atLeast?.pools ?? 0} of 42` };
    };
    const { handle } = await wake('last-word');

    await expect(handle.result()).resolves.toMatchObject({ updated: '42 of 42' });
    await expect(answer).resolves.toMatchObject({ updated: '42 of 42' });
  });
});

describe('a rollout that is cancelled', () => {
  it('writes that down, says it in every step, and steps until nothing is left', async () => {
    const { script, handle } = await start({ pool: 'cancelled' });
    await script.untilSteps(1);
    script.answer = (_, times) =>
      times < 4 ? { state: 'Cancelling', lookAgainSeconds: 0.01 } : { ended: 'cancelled' };
    await handle.cancel();

    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    const { status, searchAttributes } = await handle.describe();
    expect(status.name).toBe('CANCELLED');
    expect(searchAttributes).toMatchObject({ SlipwayOutcome: ['cancelled'] });
    expect(script.words.at(-1)).toEqual({ kind: 'cancel' });
    expect(script.steps.map(({ isCancelled }) => isCancelled)).toEqual([
      ...[undefined, true, true, true],
    ]);
  });

  it('refuses words while it ends', async () => {
    const { script, handle } = await wake('ending');
    await script.untilSteps(1);
    await handle.cancel();
    await script.untilSteps(2);

    for (const word of [startUpdate, pauseUpdate, resumeUpdate, retryNodeUpdate, skipNodeUpdate]) {
      const request = { node: 'worker-3', reason: 'too late' };
      const answer = handle.executeUpdate(word as typeof skipNodeUpdate, { args: [request] });
      await expect(answer).rejects.toMatchObject({
        cause: { message: 'the rollout of pool ending is being cancelled' },
      });
    }
    await handle.terminate();
  });

  it('answers the word that is being written', async () => {
    const { script, handle } = await wake('interrupted');
    const writing = latch();
    const written = latch();
    script.onWord = async ({ kind }) => {
      if (kind !== 'pause') return 0;
      writing.resolve();
      await written.promise;
      return 0;
    };
    script.answer = ({ isCancelled }) => (isCancelled ? { ended: 'cancelled' } : {});
    const answer = handle.executeUpdate(pauseUpdate, { args: [{ reason: 'freeze' }] });
    await writing.promise;
    await handle.cancel();

    await expect(answer).rejects.toMatchObject({
      cause: { message: 'the rollout was cancelled meanwhile' },
    });
    written.resolve();
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
  });

  it('has its pool remember that only when its start is written', async () => {
    const { script, handle } = rolloutOf('just-started');
    const [starting, started] = [latch(), latch()];
    script.onWord = async ({ kind }) => {
      if (kind === 'cancel') return 0;
      starting.resolve();
      await started.promise;
      return 0;
    };
    script.answer = () => ({ ended: 'cancelled' });
    await start({ pool: 'just-started' });
    await starting.promise;
    await handle.cancel();
    for (let isTold = false; !isTold;) {
      const { events } = await handle.fetchHistory();
      isTold = events?.some((one) => one.activityTaskCancelRequestedEventAttributes) === true;
    }

    expect(kindsOf(script)).toEqual(['start']);
    started.resolve();
    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(kindsOf(script)).toEqual(['start', 'cancel']);
  });

  it('takes its nodes back also when its pool is deleted in the same moment', async () => {
    const { script, handle } = await wake('deleted-too');
    await script.untilSteps(1);
    script.onWord = refused('ObjectNotFound', 'machineconfigpool deleted-too does not exist');
    script.answer = (_, times) =>
      times < 3 ? { state: 'Cancelling', lookAgainSeconds: 0.01 } : { ended: 'pool deleted' };
    await handle.cancel();

    await expect(handle.result()).rejects.toMatchObject({ cause: { type: 'ObjectNotFound' } });
    expect(script.steps).toHaveLength(3);
  });
});

it('a rollout whose pool is deleted fails', async () => {
  temporal.script('gone').answer = () => ({ ended: 'pool deleted' });
  const { handle } = await wake('gone');

  await expect(handle.result()).rejects.toMatchObject({
    cause: { type: 'ObjectNotFound', message: 'machineconfigpool gone does not exist' },
  });
  expect((await handle.describe()).searchAttributes).toMatchObject({ SlipwayOutcome: ['failed'] });
});

describe('a rollout that goes on in new runs', () => {
  const STEPS = 6;

  async function inSeveralRuns(
    pool: string,
    last: Partial<StepResult>,
  ): Promise<Rollout & { readonly first: string }> {
    const script = newRuns.script(pool);
    script.answer = (_, times) =>
      times < STEPS ? { lookAgainSeconds: 0.01, versions: { nodes: times } } : last;
    const { handle } = await start({ pool }, { on: newRuns });
    return { script, handle, first: (await handle.describe()).runId };
  }

  it('starts once, and knows what it has seen', async () => {
    const { script, handle, first } = await inSeveralRuns('long', { ended: 'completed' });

    await handle.result();
    expect((await handle.describe()).runId).not.toBe(first);
    expect(kindsOf(script)).toEqual(['start']);
    expect(script.steps.map(({ atLeast }) => atLeast?.nodes)).toEqual([
      undefined,
      ...Array.from({ length: STEPS - 1 }, (_, index) => index + 1),
    ]);
  });

  it('answers a word with a step of the run that has heard it', async () => {
    const { script, handle } = await inSeveralRuns('spoken', {});
    await script.untilSteps(2);
    let words = 0;
    while (script.steps.length < STEPS) {
      await handle.executeUpdate(pauseUpdate, { args: [{ reason: `${words}` }] });
      words += 1;
    }

    expect(kindsOf(script)).toEqual(['start', ...Array.from({ length: words }, () => 'pause')]);
    await handle.terminate();
  });

  it('ends as cancelled, however long that takes', async () => {
    const { script, handle } = await inSeveralRuns('cancelled-long', { ended: 'cancelled' });
    await script.untilSteps(1);
    await handle.cancel();

    await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
    expect(kindsOf(script)).toEqual(['start', 'cancel']);
    expect(script.steps.at(-1)).toMatchObject({ isCancelled: true });
    expect((await handle.describe()).status.name).toBe('CANCELLED');
  });
});
