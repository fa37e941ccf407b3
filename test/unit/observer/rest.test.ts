import type { ObservedStatus } from '../../observer/observed';
import { RolloutRecord } from '../../observer/record';
import { problemsAtRest } from '../../observer/rest';
import { byUpdate, condition, node, on, POOL_CONDITIONS, status } from './objects';

const COUNTS = {
  machineCount: 1,
  updatedMachineCount: 1,
  readyMachineCount: 1,
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
  record.poolSeen(status('worker', { counts: COUNTS, conditions: POOL_CONDITIONS, ...parts.pool }));
  return problemsAtRest(record, 'worker').map(
    ({ invariant, subject, text }) => `${invariant} ${subject}: ${text}`,
  );
}

test('all agree', () => {
  expect(problems()).toEqual([]);
});

test('a node that failed, with the same failure in every place', () => {
  const failed = { NodeDegraded: condition('True') };
  const found = problems({
    node: node('a', { annotations: on('rendered-worker-0', 'rendered-worker-a', 'Degraded') }),
    machine: { current: 'rendered-worker-0', conditions: failed },
    pool: {
      counts: {
        ...COUNTS,
        ...{ updatedMachineCount: 0, readyMachineCount: 0, degradedMachineCount: 1 },
      },
      conditions: {
        Updated: condition('False'),
        Updating: condition('True'),
        NodeDegraded: condition('True'),
        Degraded: condition('True'),
      },
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
  [{ node: node('a', { taints: ['UpdateInProgress'] }) }, 'I2 a: it has taint UpdateInProgress'],
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
  [{ pool: { current: 'rendered-worker-0' } }, 'I7 worker: its status is on rendered-worker-0'],
])('planted: %#', (parts, wanted) => {
  expect(problems(parts)).toEqual([expect.stringContaining(wanted)]);
});

test.each([
  ['that serves', {}, true],
  ['that failed', { annotations: on('rendered-worker-0', 'rendered-worker-a', 'Degraded') }, true],
  ['under a cordon of a person', { unschedulable: true }, false],
  ['that is down', { ready: false }, false],
])(
  'a node %s and is behind, with the taint of one that will be drained',
  (_what, parts, isWrong) => {
    const tainted = {
      annotations: on('rendered-worker-0'),
      ...parts,
      taints: ['UpdateInProgress'],
    };
    const found = problems({ node: node('a', tainted) }).filter((one) => one.startsWith('I2'));
    expect(found).toEqual(isWrong ? ['I2 a: it has taint UpdateInProgress'] : []);
  },
);

test.each(Object.entries(POOL_CONDITIONS))(
  'planted: %s of the pool is not what its nodes say, or is not said',
  (type, { status: said }) => {
    const wrong = condition(said === 'True' ? 'False' : 'True');
    const others = Object.fromEntries(
      Object.entries(POOL_CONDITIONS).filter(([other]) => other !== type),
    );
    const found = '1 of 1 nodes are updated, 0 failed';
    expect(problems({ pool: { conditions: { ...POOL_CONDITIONS, [type]: wrong } } })).toEqual([
      `I7 worker: ${type} is ${wrong.status}, ${found}`,
    ]);
    expect(problems({ pool: { conditions: others } })).toEqual([
      `I7 worker: ${type} is nothing, ${found}`,
    ]);
  },
);

test('a pool whose config cannot be rendered is degraded, and no node of it', () => {
  const conditions = {
    ...POOL_CONDITIONS,
    RenderDegraded: condition('True'),
    Degraded: condition('True'),
  };
  expect(problems({ pool: { conditions } })).toEqual([]);
});

test('a paused pool that is behind does not say that it is updating', () => {
  const behind = {
    node: node('a', { annotations: on('rendered-worker-0') }),
    machine: { current: 'rendered-worker-0', target: 'rendered-worker-0' },
  };
  const counts = { ...COUNTS, updatedMachineCount: 0, readyMachineCount: 0 };
  const conditions = { ...POOL_CONDITIONS, Updated: condition('False') };
  expect(problems({ ...behind, pool: { counts, conditions, paused: true } })).toEqual([]);
  expect(problems({ ...behind, pool: { counts, conditions } })).toEqual([
    'I7 worker: Updating is False, 0 of 1 nodes are updated, 0 failed',
  ]);
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
    record.poolSeen(status('worker', { counts: COUNTS, conditions: POOL_CONDITIONS }));
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
    const none = { ...COUNTS, machineCount: 0, updatedMachineCount: 0, readyMachineCount: 0 };
    record.poolSeen(status('worker', { counts: none, conditions: POOL_CONDITIONS }));
    expect(texts(record)).toEqual([]);
  });

  test('a pool is missed, until there is one again', () => {
    const record = atRest();
    record.poolGone('worker');
    expect(texts(record)).toEqual(['worker: there is no such pool']);
    expect(record.pools).toEqual([]);
    record.poolSeen(status('worker', { counts: COUNTS, conditions: POOL_CONDITIONS }));
    expect(texts(record)).toEqual([]);
  });
});
