import type { ObservedStatus } from '../../../../tools/observer/observed';
import { RolloutRecord } from '../../../../tools/observer/record';
import { problemsAtRest } from '../../../../tools/observer/rest';
import { byUpdate, condition, node, on, status } from './objects';

const COUNTS = {
  machineCount: 1,
  updatedMachineCount: 1,
  degradedMachineCount: 0,
  unavailableMachineCount: 0,
};

function problems(
  parts: {
    node?: ReturnType<typeof node>;
    machine?: Partial<ObservedStatus>;
    pool?: Partial<ObservedStatus>;
  } = {},
): readonly string[] {
  const record = new RolloutRecord({});
  record.nodeSeen(parts.node ?? node('a'), 0);
  record.machineConfigNodeSeen(status('a', parts.machine));
  record.poolSeen(status('worker', { counts: COUNTS, ...parts.pool }));
  return problemsAtRest(record, 'worker').map(
    ({ invariant, subject, text }) => `${invariant} ${subject}: ${text}`,
  );
}

test('all agree', () => {
  expect(problems()).toEqual([]);
});

test('a node that failed, and of which everybody says so', () => {
  const failed = { NodeDegraded: condition('True') };
  const found = problems({
    node: node('a', { annotations: on('rendered-worker-0', 'rendered-worker-a', 'Degraded') }),
    machine: { current: 'rendered-worker-0', conditions: failed },
    pool: {
      counts: { ...COUNTS, updatedMachineCount: 0, degradedMachineCount: 1 },
      conditions: { Updated: condition('False') },
    },
  });
  expect(found).toEqual([]);
});

test.each([
  [{ node: node('a', { annotations: byUpdate('a') }) }, 'I2 a: it is marked as cordoned by'],
  [
    { node: node('a', { taints: ['slipway.dev/update'] }) },
    'I2 a: it has taint slipway.dev/update',
  ],
  [
    { node: node('a', { annotations: on('rendered-worker-a', 'rendered-worker-a', 'Working') }) },
    'I7 a: its state is Working',
  ],
  [{ machine: { current: 'rendered-worker-0' } }, 'I7 a: its MachineConfigNode says current is'],
  [{ machine: { target: 'rendered-worker-c' } }, 'I7 a: its MachineConfigNode says desired is'],
  [
    { machine: { conditions: { Updated: condition('True'), Drained: condition('Unknown') } } },
    'I7 a: its MachineConfigNode says Drained is still under way',
  ],
  [{ machine: { conditions: {} } }, 'I7 a: its MachineConfigNode says Updated is nothing'],
  [{ pool: { conditions: {} } }, 'I7 worker: Updated is false'],
  [{ pool: { current: 'rendered-worker-0' } }, 'I7 worker: its status is on rendered-worker-0'],
])('planted: %#', (parts, wanted) => {
  expect(problems(parts)).toEqual([expect.stringContaining(wanted)]);
});

test.each(Object.entries(COUNTS))('planted: a wrong %s', (name, count) => {
  expect(problems({ pool: { counts: { ...COUNTS, [name]: count + 1 } } })).toEqual([
    `I7 worker: ${name} is ${count + 1}, of its nodes ${count} are`,
  ]);
});

describe('an object that was deleted', () => {
  const atRest = (): RolloutRecord => {
    const record = new RolloutRecord({});
    record.nodeSeen(node('a'), 0);
    record.machineConfigNodeSeen(status('a'));
    record.poolSeen(status('worker', { counts: COUNTS }));
    return record;
  };
  const texts = (record: RolloutRecord): readonly string[] =>
    problemsAtRest(record, 'worker').map(({ subject, text }) => `${subject}: ${text}`);

  test('a MachineConfigNode is missed on its node, until there is one again', () => {
    const record = atRest();
    record.machineConfigNodeGone('a');
    expect(texts(record)).toEqual(['a: it has no MachineConfigNode']);
    record.machineConfigNodeSeen(status('a'));
    expect(texts(record)).toEqual([]);
  });

  test('a MachineConfigNode goes with its node', () => {
    const record = atRest();
    record.machineConfigNodeGone('a');
    record.nodeGone('a');
    const none = { ...COUNTS, machineCount: 0, updatedMachineCount: 0 };
    record.poolSeen(status('worker', { counts: none }));
    expect(texts(record)).toEqual([]);
  });

  test('a pool is missed, until there is one again', () => {
    const record = atRest();
    record.poolGone('worker');
    expect(texts(record)).toEqual(['worker: there is no such pool']);
    expect(record.pools).toEqual([]);
    record.poolSeen(status('worker', { counts: COUNTS }));
    expect(texts(record)).toEqual([]);
  });
});
