import {
  clusterOperatorStatus,
  operatorStatus,
  type Component,
  type OperatorStatus,
} from '../../../../core/operator-status';
import type { MachineConfigPool } from '../../../../core/pool/types';

const NOW = '2030-01-01T10:00:00Z';
const EARLIER = '2030-01-01T09:00:00Z';
const REQUIRED = { 'operator.machineconfiguration.openshift.io/required-for-upgrade': '' };

interface PoolShape {
  readonly required?: true;
  readonly paused?: true;
  readonly nodes?: readonly [updated: number, of: number];
  /** A node is on its config, and not Ready. */
  readonly unready?: true;
  readonly degraded?: string;
  /** When Updated became False. */
  readonly since?: string;
  readonly generation?: number;
  /** When Updating became what it is. */
  readonly resumed?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function aPool(name: string, shape: PoolShape = {}): MachineConfigPool {
  const { nodes: [updated, of] = [3, 3], degraded, since = NOW, paused, generation = 1 } = shape;
  const isDone = updated === of && shape.unready !== true;
  const condition = (type: string, is: boolean, message = '', lastTransitionTime = since) => ({
    ...{ type, status: is ? ('True' as const) : ('False' as const), reason: '', message },
    lastTransitionTime,
  });
  return {
    metadata: {
      ...{ name, generation, annotations: shape.annotations ?? {} },
      ...(shape.required ? { labels: REQUIRED } : {}),
    },
    spec: {
      configuration: { name: `rendered-${name}-1` },
      ...(paused === undefined ? {} : { paused }),
    },
    status: {
      ...{ observedGeneration: 1, machineCount: of, updatedMachineCount: updated },
      ...(degraded === undefined ? {} : { degradedMachineCount: 1 }),
      conditions: [
        condition('Updated', isDone),
        condition('Updating', !isDone && paused !== true, '', shape.resumed),
        condition('Degraded', degraded !== undefined, degraded),
      ],
    },
  };
}

const HOSTS = { reported: 3, neverReported: 0, versions: [{ version: '0.3.0', hosts: 3 }] };
const OWN = { version: '0.3.0', image: 'r/slipway:0.3.0' };

function aComponent(name: string, shape: Partial<Component> = {}): Component {
  return { name, replicas: 2, ready: 2, images: [OWN.image], ...shape };
}

const ALL = ['cluster-worker', 'controllers', 'server'].map((name) => aComponent(name));

type Input = Parameters<typeof operatorStatus>[0];

const decide = (input: Partial<Input> = {}) =>
  operatorStatus({
    ...{ pools: [aPool('worker')], components: ALL, hostWorkers: HOSTS, faults: [], own: OWN },
    ...{ policyOf: () => undefined, before: undefined, now: NOW },
    ...input,
  });

/** `A P D U` and their reasons, without what is as expected. */
function told({ conditions }: OperatorStatus): string {
  return conditions
    .map(({ type, status, reason }) => {
      const isExpected = reason === 'AsExpected';
      return `${type.slice(0, 1)}=${status.slice(0, 1)}${isExpected ? '' : `:${reason}`}`;
    })
    .join(' ');
}

const messageOf = ({ conditions }: OperatorStatus, wanted: string) =>
  conditions.find(({ type }) => type === wanted)?.message;

const WELL = 'A=T P=F D=F U=T';
const long = { since: '2030-01-01T08:00:00Z' };
const LATE = { required: true, nodes: [0, 3], ...long } as const;
const JUST_NOW = '2030-01-01T09:59:00Z';
const MANUAL: Partial<Input> = {
  policyOf: (name) => ({ metadata: { name }, spec: { trigger: 'Manual' } }),
};
const CANCELLED = { 'slipway.dev/rollout-cancelled': 'rendered-master-1' };
const STARTED = { 'slipway.dev/rollout-started': 'rendered-master-1' };
const said = (word: string, at: string) => ({
  'slipway.dev/history': JSON.stringify([{ at, word }]),
});

const TABLE: readonly (readonly [what: string, input: Partial<Input>, expected: string])[] = [
  ['all well', {}, WELL],
  ['no pool', { pools: [] }, WELL],
  ['processes elsewhere', { components: [] }, WELL],
  [
    'a rollout of a pool',
    { pools: [aPool('worker', { nodes: [1, 3] })] },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a pool that is not required takes long',
    { pools: [aPool('worker', { nodes: [1, 3], ...long })] },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool takes less than ten minutes for each node',
    { pools: [aPool('master', { required: true, nodes: [1, 3], since: '2030-01-01T09:31:00Z' })] },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool takes too long',
    { pools: [aPool('master', { required: true, nodes: [1, 3], since: '2030-01-01T09:30:00Z' })] },
    'A=T P=T:PoolUpdating D=T:RequiredPoolsFailed U=F:PoolUpdating',
  ],
  [
    'a failed node, also of a pool that is not required',
    { pools: [aPool('worker', { degraded: 'disk full', nodes: [2, 3] }), aPool('master')] },
    'A=T P=T:PoolUpdating D=T:RequiredPoolsFailed U=F:DegradedPool',
  ],
  ['a paused pool', { pools: [aPool('worker', { paused: true, nodes: [2, 3] })] }, WELL],
  [
    'a paused required pool',
    { pools: [aPool('master', { required: true, paused: true, nodes: [2, 3] })] },
    'A=T P=F D=T:RequiredPoolsFailed U=F:RequiredPoolNotUpdated',
  ],
  [
    'a required pool that was resumed a moment ago',
    { pools: [aPool('master', { ...LATE, resumed: JUST_NOW })] },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool that nobody has started, for long',
    { pools: [aPool('master', LATE)], ...MANUAL },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool that was started a moment ago',
    {
      pools: [
        aPool('master', { ...LATE, annotations: { ...STARTED, ...said('start', JUST_NOW) } }),
      ],
      ...MANUAL,
    },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool that was started, and takes too long since',
    {
      pools: [aPool('master', { ...LATE, annotations: { ...STARTED, ...said('start', EARLIER) } })],
      ...MANUAL,
    },
    'A=T P=T:PoolUpdating D=T:RequiredPoolsFailed U=F:PoolUpdating',
  ],
  [
    'a required pool about which a person has said something else since',
    { pools: [aPool('master', { ...LATE, annotations: said('skip', JUST_NOW) })] },
    'A=T P=T:PoolUpdating D=T:RequiredPoolsFailed U=F:PoolUpdating',
  ],
  [
    'a required pool whose rollout was cancelled, for long',
    { pools: [aPool('master', { ...LATE, annotations: CANCELLED })] },
    'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
  ],
  [
    'a required pool whose status is of an earlier spec',
    { pools: [aPool('master', { required: true, generation: 2 })] },
    'A=T P=F D=F U=F:RequiredPoolNotUpdated',
  ],
  [
    'a fault of another object comes first',
    {
      pools: [aPool('worker', { degraded: 'disk full' })],
      faults: [{ reason: 'MachineConfigurationFailed', message: 'spec is wrong' }],
    },
    'A=T P=F D=T:MachineConfigurationFailed U=F:DegradedPool',
  ],
  [
    'a component that was down a moment ago',
    { components: [aComponent('server', { ready: 0, downSince: '2030-01-01T09:50:01Z' })] },
    WELL,
  ],
  [
    'a component that has been down for ten minutes',
    { components: [aComponent('server', { ready: 0, downSince: '2030-01-01T09:50:00Z' })] },
    'A=F:MachineConfigServerFailed P=F D=T:MachineConfigServerFailed U=T',
  ],
];

it.each(TABLE)('%s', (_what, input, expected) => {
  expect(told(decide(input))).toBe(expected);
});

describe('messages', () => {
  it('name the pool, its nodes and what to do', () => {
    const status = decide({
      pools: [
        aPool('worker', { degraded: 'Node w-1 is reporting: "disk full"', nodes: [2, 3] }),
        aPool('master', { required: true, paused: true, nodes: [0, 1] }),
      ],
    });

    expect(messageOf(status, 'Degraded')).toBe(
      'required pool master has 0 of 1 node updated, and it is paused: slipway rollout resume master; ' +
        'pool worker is degraded: Node w-1 is reporting: "disk full"',
    );
    expect(messageOf(status, 'Upgradeable')).toContain('pool worker is degraded; mend it');
    expect(status.message).toBe(messageOf(status, 'Degraded'));
    expect(status.pools).toEqual({
      master:
        '0 of 1 node updated, config rendered-master-1, required for upgrades; it is paused: slipway rollout resume master',
      worker:
        '2 of 3 nodes updated, 1 failed, config rendered-worker-1; degraded: Node w-1 is reporting: "disk full"',
    });
  });

  it.each<[string, PoolShape, Partial<Input>, string]>([
    ['nobody has started', {}, MANUAL, 'it waits for a person: slipway rollout start master'],
    [
      'was cancelled',
      { annotations: CANCELLED },
      {},
      'its rollout was cancelled: slipway rollout start master',
    ],
    ['is paused', { paused: true }, MANUAL, 'it is paused: slipway rollout resume master'],
    [
      'is paused while a node that is updated is not Ready',
      { paused: true, nodes: [3, 3], unready: true },
      {},
      'it is paused: slipway rollout resume master',
    ],
  ])('name the command for a pool that %s', (_what, shape, input, blocker) => {
    const status = decide({ pools: [aPool('master', { ...LATE, ...shape })], ...input });
    const [updated] = shape.nodes ?? [0];
    const found = `required pool master has ${updated} of 3 nodes updated, and ${blocker}`;

    expect(status.pools['master']).toBe(
      `${updated} of 3 nodes updated, config rendered-master-1, required for upgrades; ${blocker}`,
    );
    expect(messageOf(status, 'Upgradeable')).toContain(`${found}; `);
    expect(status.message).toContain(found);
    if (shape.paused !== true) expect(messageOf(status, 'Progressing')).toBe(found);
  });

  it('ask for nobody where no node is behind', () => {
    const pools = [
      aPool('infra', { annotations: { 'slipway.dev/rollout-cancelled': 'rendered-infra-1' } }),
      aPool('worker', { paused: true }),
    ];

    expect(decide({ pools, ...MANUAL }).pools).toEqual({
      infra: '3 of 3 nodes updated, config rendered-infra-1',
      worker: '3 of 3 nodes updated, paused, config rendered-worker-1',
    });
  });

  it('are bounded, whatever pools say', () => {
    const status = decide({ pools: [aPool('worker', { degraded: 'x'.repeat(100_000) })] });

    expect(JSON.stringify(status).length).toBeLessThan(20_000);
  });
});

describe('another version of the controllers', () => {
  const before = (version: string) => ({
    conditions: [],
    versions: [{ name: 'operator', version }],
  });
  const operator = ({ versions }: OperatorStatus) =>
    versions.find(({ name }) => name === 'operator')?.version;

  it.each<[string, Partial<Input>, string, string]>([
    ['is reached at once where nothing waits', {}, '0.3.0', WELL],
    [
      'waits for the other components',
      {
        components: [
          ...ALL.slice(1),
          aComponent('cluster-worker', { images: ['r/slipway:0.2.0'] }),
        ],
      },
      '0.2.0',
      'A=T P=T:VersionChanging D=F U=T',
    ],
    [
      'waits for a required pool',
      { pools: [aPool('master', { required: true, nodes: [1, 3] })] },
      '0.2.0',
      'A=T P=T:VersionChanging D=F U=F:PoolUpdating',
    ],
    [
      'waits for no other pool',
      { pools: [aPool('worker', { nodes: [1, 3] })] },
      '0.3.0',
      'A=T P=T:PoolUpdating D=F U=F:PoolUpdating',
    ],
  ])('%s', (_what, input, version, expected) => {
    const status = decide({ before: before('0.2.0'), ...input });

    expect(operator(status)).toBe(version);
    expect(told(status)).toBe(expected);
  });

  it('names what it waits for', () => {
    const status = decide({
      before: before('0.2.0'),
      pools: [aPool('master', { required: true, nodes: [1, 3] })],
    });

    expect(messageOf(status, 'Progressing')).toBe(
      'from 0.2.0 to 0.3.0: required pool master has 1 of 3 nodes updated',
    );
  });
});

describe('versions', () => {
  it('are of the leader where nothing else is seen', () => {
    const hostWorkers = { reported: 0, neverReported: 2, versions: [] };
    const status = decide({ components: [], hostWorkers });

    expect(status.versions).toEqual([
      { name: 'operator', version: '0.3.0' },
      { name: 'controllers', version: '0.3.0' },
    ]);
    expect(clusterOperatorStatus(status).extension).toEqual({
      worker: '3 of 3 nodes updated, config rendered-worker-1',
      hostWorkers: '2 never reported',
    });
  });

  it('have all components and host workers', () => {
    const images = ['r/slipway:0.2.0', OWN.image];
    const status = decide({
      components: [aComponent('controllers'), aComponent('server', { images })],
      hostWorkers: {
        ...{ reported: 5, neverReported: 1 },
        versions: [
          { version: '0.3.0', hosts: 4 },
          { version: '0.2.0', hosts: 1 },
        ],
      },
    });

    expect(status.versions).toEqual([
      { name: 'operator', version: '0.3.0' },
      { name: 'controllers', version: '0.3.0' },
      { name: 'server', version: '0.2.0, 0.3.0' },
      { name: 'host-worker', version: '0.3.0, 0.2.0' },
    ]);
    expect(clusterOperatorStatus(status).extension['hostWorkers']).toBe(
      '4 of 0.3.0, 1 of 0.2.0, 1 never reported',
    );
  });
});

describe('time', () => {
  it('of a condition stays while its status stays', () => {
    const first = decide({ now: EARLIER, pools: [aPool('worker', { nodes: [1, 3] })] });
    const second = decide({ before: first, pools: [aPool('worker', { nodes: [2, 3] })] });
    const third = decide({ before: second, now: '2030-01-01T11:00:00Z' });

    expect([first.since, second.since, third.since]).toEqual([
      EARLIER,
      EARLIER,
      '2030-01-01T11:00:00Z',
    ]);
    expect(messageOf(second, 'Progressing')).toBe('pool worker has 2 of 3 nodes updated');
  });
});
