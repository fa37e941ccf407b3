/** The workflow of a rollout on a real Temporal server; its activities are scripted. */

import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { ApplicationFailure } from '@temporalio/common';
import { CLUSTER_QUEUE, poolRolloutId, STEP_QUEUE } from '../../core/names';
import { startTemporal, type TemporalServer } from '../../tools/temporal';
import {
  pauseUpdate,
  progressQuery,
  resumeUpdate,
  retryNodeUpdate,
  wakeSignal,
  type RolloutActivities,
  type StepInput,
  type StepResult,
  type Word,
} from '../../workflows/contracts/rollout';
import type { poolRollout } from '../../workflows/pool/pool-rollout';
import { quietRuntime } from './support/temporal';

jest.setTimeout(60_000);

let server: TemporalServer;
let native: NativeConnection;
let client: Client;
let connection: Connection;
const workers: { readonly worker: Worker; readonly done: Promise<void> }[] = [];
const scripts = new Map<string, Script>();

/** What a pool's rollout is answered, and what it has asked. */
class Script implements RolloutActivities {
  readonly steps: StepInput[] = [];
  readonly words: Word[] = [];
  answer: (input: StepInput, times: number) => Partial<StepResult> = () => ({});
  onWord: (word: Word) => Promise<number> = () => Promise.resolve(0);
  readonly #listeners: (() => void)[] = [];

  async step(input: StepInput): Promise<StepResult> {
    this.steps.push(input);
    for (const listener of this.#listeners.splice(0)) listener();
    return Promise.resolve({
      ...{
        config: 'rendered-x',
        state: 'Rolling',
        updated: '0 of 3',
        granted: [],
        grantedCount: 0,
      },
      ...{ lookAgainSeconds: 600, versions: { nodes: 10 } },
      ...this.answer(input, this.steps.length),
    });
  }

  async writeWord({ word }: { readonly word: Word }): Promise<{ readonly pools?: number }> {
    this.words.push(word);
    const version = await this.onWord(word);
    return version === 0 ? {} : { pools: version };
  }

  async untilSteps(count: number): Promise<void> {
    while (this.steps.length < count) {
      await new Promise<void>((resolve) => this.#listeners.push(resolve));
    }
  }
}

function scriptOf(pool: string): Script {
  const script = scripts.get(pool) ?? new Script();
  scripts.set(pool, script);
  return script;
}

beforeAll(async () => {
  quietRuntime();
  server = await startTemporal({ ui: false });
  const { address, namespace } = server;
  native = await NativeConnection.connect({ address });
  connection = await Connection.connect({ address });
  client = new Client({ connection, namespace });
  const shared = { connection: native, namespace };
  const workflows = await Worker.create({
    ...shared,
    taskQueue: CLUSTER_QUEUE,
    workflowsPath: require.resolve('../../workflows/pool/pool-rollout'),
    activities: {
      writeWord: (input: { readonly pool: string; readonly word: Word }) =>
        scriptOf(input.pool).writeWord(input),
    },
  });
  const steps = await Worker.create({
    ...shared,
    taskQueue: STEP_QUEUE,
    activities: { step: (input: StepInput) => scriptOf(input.pool).step(input) },
  });
  for (const worker of [workflows, steps]) workers.push({ worker, done: worker.run() });
}, 180_000);

afterAll(async () => {
  for (const { worker } of workers) worker.shutdown();
  await Promise.all(workers.map(({ done }) => done));
  await connection.close();
  await native.close();
  await server.stop();
}, 60_000);

async function start(pool: string) {
  const script = scriptOf(pool);
  const handle = await client.workflow.start<typeof poolRollout>('poolRollout', {
    taskQueue: CLUSTER_QUEUE,
    workflowId: poolRolloutId(pool),
    args: [{ pool }],
  });
  return { script, handle };
}

describe('a rollout', () => {
  it('writes its start, steps until it is over, and says how it ended', async () => {
    const script = scriptOf('ends');
    script.answer = (_, times) =>
      times < 2 ? { lookAgainSeconds: 0.01 } : { state: 'Completed', ended: 'completed' };
    const { handle } = await start('ends');

    expect(await handle.result()).toMatchObject({ state: 'Completed' });
    expect(script.words).toEqual([{ kind: 'start' }]);
    expect((await handle.describe()).searchAttributes).toMatchObject({
      ...{ SlipwayPool: ['ends'], SlipwayConfig: ['rendered-x'], SlipwayOutcome: ['completed'] },
    });
  });

  it('steps at once when it is woken, with what must be seen, and never sees less again', async () => {
    const { script, handle } = await start('woken');
    await script.untilSteps(1);
    await handle.signal(wakeSignal, { atLeast: { nodes: 17, pools: 3 } });
    await script.untilSteps(2);
    await handle.signal(wakeSignal, 'nonsense' as never);
    await script.untilSteps(3);

    const seen = script.steps.map(({ atLeast }) => atLeast);
    expect(seen.at(-1)).toEqual({ nodes: 17, pools: 3 });
    expect(seen[0]).toEqual({});
    await handle.terminate();
  });

  it('steps once more when it was woken during the step that ended it', async () => {
    const script = scriptOf('late');
    const { handle } = await (async () => {
      script.answer = () => ({ ended: 'completed' });
      const original = script.step.bind(script);
      script.step = async (input) => {
        if (script.steps.length === 0) {
          await client.workflow
            .getHandle(poolRolloutId('late'))
            .signal(wakeSignal, { atLeast: { pools: 9 } });
        }
        return original(input);
      };
      return start('late');
    })();

    await handle.result();
    expect(script.steps.length).toBe(2);
    expect(script.steps[1]?.atLeast).toMatchObject({ pools: 9 });
  });

  it('writes a word, steps with it, and answers with that step', async () => {
    const { script, handle } = await start('paused');
    await script.untilSteps(1);
    script.onWord = () => Promise.resolve(42);
    script.answer = ({ atLeast }) => ((atLeast?.pools ?? 0) >= 42 ? { state: 'Paused' } : {});

    const answer = await handle.executeUpdate(pauseUpdate, {
      args: [{ reason: 'freeze', by: 'ada' }],
    });

    expect(answer.state).toBe('Paused');
    expect(script.words.at(-1)).toEqual({ kind: 'pause', reason: 'freeze (ada)' });
    expect(await handle.query(progressQuery)).toMatchObject({ state: 'Paused' });
    await handle.terminate();
  });

  it('writes the words of people one after the other, in the order in which it heard them', async () => {
    const { script, handle } = await start('ordered');
    await script.untilSteps(1);
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    script.onWord = async ({ kind }) => {
      if (kind === 'pause') await gate;
      return 0;
    };
    const paused = handle.startUpdate(pauseUpdate, {
      args: [{ reason: 'a' }],
      waitForStage: 'ACCEPTED',
    });
    await paused;
    const resumed = handle.executeUpdate(resumeUpdate, { args: [{}] });
    open();
    await resumed;

    expect(script.words.map(({ kind }) => kind)).toEqual(['start', 'pause', 'resume']);
    await handle.terminate();
  });

  it.each([
    ['without a reason', () => ({ update: pauseUpdate, request: { reason: ' ' } }), 'say why'],
    ['without a node', () => ({ update: retryNodeUpdate, request: {} }), 'name the node'],
  ])('refuses a word %s', async (what, word, says) => {
    const { handle } = await start(`refuses-${what.slice(-4)}`);
    const { update, request } = word();
    const refused = handle.executeUpdate(update as typeof pauseUpdate, { args: [request] });

    await expect(refused).rejects.toMatchObject({
      cause: { message: expect.stringContaining(says) as string },
    });
    await handle.terminate();
  });

  it('says why a word could not be written', async () => {
    const { script, handle } = await start('unwritten');
    await script.untilSteps(1);
    script.onWord = () => {
      throw ApplicationFailure.nonRetryable(
        'worker-3 is neither failed nor held',
        'RefusedRequest',
      );
    };

    await expect(
      handle.executeUpdate(retryNodeUpdate, { args: [{ node: 'worker-3' }] }),
    ).rejects.toMatchObject({
      cause: { message: 'RefusedRequest: worker-3 is neither failed nor held' },
    });
    await handle.terminate();
  });

  it('that is cancelled writes that down, and steps until nothing is left', async () => {
    const { script, handle } = await start('cancelled');
    await script.untilSteps(1);
    script.answer = (_, times) =>
      times < 4 ? { state: 'Cancelling', lookAgainSeconds: 0.01 } : { ended: 'cancelled' };
    await handle.cancel();

    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect((await handle.describe()).status.name).toBe('CANCELLED');
    expect(script.words.at(-1)).toEqual({ kind: 'cancel' });
    expect(script.steps.length).toBeGreaterThanOrEqual(4);
  });

  it('fails when its pool is deleted, and at once under a wrong name', async () => {
    scriptOf('gone').answer = () => ({ ended: 'pool deleted' });
    const { handle } = await start('gone');
    await expect(handle.result()).rejects.toMatchObject({
      cause: { type: 'ObjectNotFound', message: 'machineconfigpool gone does not exist' },
    });

    const wrong = await client.workflow.start<typeof poolRollout>('poolRollout', {
      taskQueue: CLUSTER_QUEUE,
      workflowId: 'mine',
      args: [{ pool: 'gone' }],
    });
    await expect(wrong.result()).rejects.toMatchObject({ cause: { type: 'WrongWorkflowId' } });
  });
});
