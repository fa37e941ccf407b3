import type { WorkflowClient } from '@temporalio/client';
import { RolloutWaker } from '../../../../process/temporal/rollout-waker';

interface Call {
  readonly id: string;
  readonly seen: unknown;
  answer(failure?: Error): void;
}

/** A Temporal that answers when it is told to. */
function aWaker(): { readonly waker: RolloutWaker; readonly calls: Call[] } {
  const calls: Call[] = [];
  const client: Pick<WorkflowClient, 'withDeadline'> & { signalWithStart: unknown } = {
    withDeadline: (_deadline, work) => work(),
    signalWithStart: (_type: string, options: { workflowId: string; signalArgs: unknown[] }) =>
      new Promise<void>((resolve, reject) => {
        calls.push({
          id: options.workflowId,
          seen: options.signalArgs[0],
          answer: (failure) => (failure === undefined ? resolve() : reject(failure)),
        });
      }),
  };
  return { waker: new RolloutWaker(client as unknown as WorkflowClient), calls };
}

const settled = (): Promise<void> => new Promise(setImmediate);
const seen = (calls: readonly Call[]) => calls.map((call) => call.seen);

it('says at once what is to be seen, to each rollout by itself', async () => {
  const { waker, calls } = aWaker();
  void waker.wake('worker', { nodes: 1 });
  void waker.wake('infra', { pools: 2 });
  await settled();

  expect(calls.map(({ id }) => id)).toEqual(['pool-rollout/worker', 'pool-rollout/infra']);
  expect(seen(calls)).toEqual([{ atLeast: { nodes: 1 } }, { atLeast: { pools: 2 } }]);
});

it('makes one call of all words that come while one is under way', async () => {
  const { waker, calls } = aWaker();
  const told: string[] = [];
  void waker.wake('worker', { nodes: 1 }).then(() => told.push('first'));
  await settled();
  void waker.wake('worker', { nodes: 3, pools: 1 }).then(() => told.push('second'));
  void waker.wake('worker', { nodes: 2, policies: 4 }).then(() => told.push('third'));
  await settled();
  expect(calls).toHaveLength(1);

  calls[0]?.answer();
  await settled();
  expect(told).toEqual(['first']);
  expect(seen(calls).slice(1)).toEqual([{ atLeast: { nodes: 3, pools: 1, policies: 4 } }]);

  calls[1]?.answer();
  await settled();
  expect(told).toEqual(['first', 'second', 'third']);
});

it('fails for those whose call failed, and not for who comes later', async () => {
  const { waker, calls } = aWaker();
  const first = waker.wake('worker', { nodes: 1 });
  await settled();
  const second = waker.wake('worker', { nodes: 2 });
  calls[0]?.answer(new Error('UNAVAILABLE'));
  await expect(first).rejects.toThrow('UNAVAILABLE');
  await settled();

  calls[1]?.answer();
  await second;
  expect(seen(calls)).toEqual([{ atLeast: { nodes: 1 } }, { atLeast: { nodes: 2 } }]);
});
