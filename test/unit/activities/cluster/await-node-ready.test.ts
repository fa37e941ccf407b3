import { createAwaitNodeReady } from '../../../../activities/cluster/await-node-ready';
import type { ClusterPorts } from '../../../../activities/ports';
import type { Node } from '../../../../core/node/types';

const START = Date.parse('2026-03-01T10:00:00Z');
const INPUT = {
  ...{ node: 'n', pool: 'worker', config: 'rendered-worker-1', workflowId: 'update-node/n' },
  readySeconds: 30,
  timeoutSeconds: 300,
};

beforeEach(() => {
  jest.useFakeTimers({ now: START });
});
afterEach(() => {
  jest.useRealTimers();
});

function aNode(ready: 'True' | 'False'): Node {
  const conditions = [{ type: 'Ready', status: ready }];
  return { metadata: { name: 'n' }, spec: {}, status: { conditions } };
}

/** Waits for the node, ordered at `START`; the clock of the worker says whatever the test sets. */
function waiting(first: Node) {
  const beganAt = performance.now();
  let node = first;
  let changed = (_event: object): void => undefined;
  const ignored = (): void => undefined;
  const outcome = jest.fn<undefined, [string]>();
  const ports = {
    view: {
      nodes: {
        get: () => node,
        subscribe: (told: typeof changed) => {
          changed = told;
          return ignored;
        },
      },
    },
    run: () => ({
      signal: new AbortController().signal,
      scheduledAtMs: START,
      temporalNow: () => START + performance.now() - beganAt,
      log: { debug: ignored, info: ignored, warn: ignored },
      heartbeat: ignored,
    }),
    now: Date.now,
  };
  const activity = createAwaitNodeReady(ports as unknown as ClusterPorts);
  activity(INPUT).then(
    () => outcome('ready'),
    (error: unknown) => outcome((error as Error).name),
  );
  const becomes = (ready: 'True' | 'False'): void => {
    node = aNode(ready);
    changed({ object: node });
  };
  return { outcome, becomes };
}

it('gives a node all its time on a worker whose clock goes hours ahead', async () => {
  const { outcome } = waiting(aNode('False'));
  await jest.advanceTimersByTimeAsync(10_000);
  jest.setSystemTime(START + 7_200_000);

  await jest.advanceTimersByTimeAsync(280_000);
  expect(outcome).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(outcome).toHaveBeenCalledWith('NodeNotReady');
});

it.each([7_200_000, -7_200_000])(
  'has watched a node long enough only when the time is over, though the clock steps by %i ms',
  async (stepMs) => {
    const { outcome, becomes } = waiting(aNode('False'));
    becomes('True');
    await jest.advanceTimersByTimeAsync(5_000);
    jest.setSystemTime(START + stepMs);

    await jest.advanceTimersByTimeAsync(20_000);
    expect(outcome).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(outcome).toHaveBeenCalledWith('ready');
  },
);
