import { setImmediate as turn } from 'node:timers/promises';
import { EventQueue } from '../../../../adapters/kube/events';

const EVENT = {
  type: 'Normal',
  reason: 'Drain',
  message: 'Draining node to update config.',
} as const;

interface Write {
  readonly node: string;
  readonly at: Date | undefined;
  readonly answer: () => void;
  readonly refuse: (error: Error) => void;
}

/** Its API server answers when the test says so. */
function aQueue() {
  const asked: Write[] = [];
  const logged: object[] = [];
  const log = (fields: object): void => void logged.push(fields);
  const queue = new EventQueue(
    {
      on: ({ name }, _, at) =>
        new Promise((answer, refuse) => {
          asked.push({ node: name, at, answer, refuse });
        }),
    },
    { debug: log, info: log, warn: log, error: log },
  );
  const tell = (count: number): void => {
    for (let n = 1; n <= count; n += 1) queue.onNode({ name: `worker-${n}` }, EVENT);
  };
  return { queue, asked, logged, tell };
}

it('writes two at once and the others in turn', async () => {
  const { asked, tell } = aQueue();
  tell(4);
  expect(asked.map(({ node }) => node)).toEqual(['worker-1', 'worker-2']);

  asked[1]?.answer();
  await turn();
  expect(asked.map(({ node }) => node)).toEqual(['worker-1', 'worker-2', 'worker-3']);

  asked[0]?.answer();
  asked[2]?.answer();
  await turn();
  asked[3]?.answer();
  await turn();
  tell(1);
  expect(asked.map(({ node }) => node).slice(3)).toEqual(['worker-4', 'worker-1']);
});

it('gives an Event the time at which it was told', async () => {
  const { asked, tell } = aQueue();
  jest.useFakeTimers({ doNotFake: ['setImmediate'], now: new Date('2026-01-01T00:00:00Z') });
  tell(3);
  jest.setSystemTime(new Date('2026-01-01T00:01:00Z'));
  asked[0]?.answer();
  await turn();
  jest.useRealTimers();

  expect(asked[2]?.at?.toISOString()).toBe('2026-01-01T00:00:00.000Z');
});

it('goes on after a refused one, and logs it', async () => {
  const { asked, logged, tell } = aQueue();
  tell(3);

  asked[0]?.refuse(new Error('events is forbidden'));
  await turn();

  expect(asked).toHaveLength(3);
  expect(logged).toEqual([{ about: 'worker-1', event: 'Drain', reason: 'events is forbidden' }]);
});

it('drops and logs what comes while a thousand wait', () => {
  const { asked, logged, tell } = aQueue();

  tell(1003);

  expect(asked).toHaveLength(2);
  expect(logged).toEqual([{ about: 'worker-1003', event: 'Drain', reason: '1000 wait already' }]);
});
