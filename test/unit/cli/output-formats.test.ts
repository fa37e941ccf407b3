import { parse } from 'yaml';
import { buildProgram } from '../../../cli/program';
import type { CliCluster, CliContext, CliTemporal, RolloutRecord } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { ANNOTATION } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aView, NO_DOCTOR, NO_STREAMS, NO_SUPPORT } from './cluster-view';
import { rendered } from './rendered-config';

const NOW = Date.parse('2030-01-01T01:00:00Z');
const CREATED = '2030-01-01T00:00:00Z';

const POOL = {
  metadata: { name: 'worker', creationTimestamp: CREATED, managedFields: [{ manager: 'x' }] },
  spec: {
    configuration: { name: 'new' },
    maxUnavailable: '20%',
    paused: true,
    nodeSelector: { matchLabels: { role: 'worker' } },
  },
  status: {
    configuration: { name: 'old' },
    conditions: [{ type: 'Updating', status: 'True', reason: '', message: '' }],
    ...{ machineCount: 4, readyMachineCount: 1, updatedMachineCount: 2, degradedMachineCount: 3 },
  },
} as MachineConfigPool;

const NODE: Node = {
  metadata: {
    name: 'n1',
    labels: { role: 'worker' },
    annotations: {
      [ANNOTATION.CURRENT_CONFIG]: 'old',
      [ANNOTATION.DESIRED_CONFIG]: 'new',
      [ANNOTATION.STATE]: 'Degraded',
      [ANNOTATION.REASON]: 'disk full',
    },
  },
  spec: { unschedulable: true },
  status: {
    conditions: [{ type: 'Ready', status: 'True' }],
    nodeInfo: { osImage: 'Fedora CoreOS 42' },
  },
};

const RECORD: RolloutRecord = {
  pool: 'worker',
  runId: 'run-1',
  status: 'COMPLETED',
  config: 'new',
  startedAt: CREATED,
  endedAt: '2030-01-01T00:10:00Z',
};

async function printed(...line: readonly string[]): Promise<string> {
  let text = '';
  const out = { write: (more: string) => (text += more) };
  const err = { write: () => undefined };
  const cluster: Partial<CliCluster> = {
    read: async () => aView({ pools: [POOL], nodes: [NODE] }),
    machineConfig: async (name) => rendered(name),
    disruptionPolicy: async () => ({ policy: {}, problems: [] }),
    pods: async () => [],
    budgets: async () => [],
    daemonSets: async () => [],
  };
  const temporal: Partial<CliTemporal> = {
    rollouts: async () => [RECORD],
    openRollout: async () => undefined,
    openUpdates: async () => [],
    steps: async () => new Map(),
    nodeStatus: async () => undefined,
    hostWorker: async () => undefined,
  };
  const context: CliContext = {
    terminal: openTerminal({ out, err }, { color: false, env: {} }),
    now: () => NOW,
    signal: new AbortController().signal,
    user: () => Promise.resolve(undefined),
    cluster: async () => cluster as CliCluster,
    temporal: async () => temporal as CliTemporal,
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
    doctor: NO_DOCTOR,
    support: NO_SUPPORT,
    streams: NO_STREAMS,
  };
  await buildProgram({ exit: () => undefined, context: () => context }).parseAsync([
    ...['node', 'slipway'],
    ...line,
  ]);
  return text;
}

/** Cells by header; at least two blanks separate columns. */
async function cells(...line: readonly string[]): Promise<Readonly<Record<string, string>>> {
  const [headers = '', row = ''] = (await printed(...line)).split('\n');
  const starts = [...headers.matchAll(/\S+/g)].map(({ 0: name, index }) => ({ name, index }));
  return Object.fromEntries(
    starts.map(({ name, index }, at) => [name, row.slice(index, starts[at + 1]?.index).trim()]),
  );
}

describe('get', () => {
  const POOL_CELLS = {
    ...{ NAME: 'worker', CONFIG: 'old', UPDATED: 'False', UPDATING: 'True', DEGRADED: 'False' },
    ...{ MACHINES: '4', READY: '1', UPDATEDMACHINES: '2', DEGRADEDMACHINES: '3', AGE: '1h0m' },
  };
  const NODE_CELLS = {
    ...{ NAME: 'n1', POOL: 'worker', STATE: 'Degraded', CURRENT: 'old', DESIRED: 'new' },
    CORDONED: 'by a person',
  };
  const ROLLOUT_CELLS = {
    ...{ POOL: 'worker', STATUS: 'COMPLETED', CONFIG: 'new', STARTED: '1h0m ago', TOOK: '10m0s' },
  };

  it.each([
    ['pools', POOL_CELLS, { TARGET: 'new', PAUSED: 'true', MAXUNAVAILABLE: '20%' }],
    ['nodes', NODE_CELLS, { OS: 'Fedora CoreOS 42', HOSTWORKER: '', REASON: 'disk full' }],
    ['rollouts', ROLLOUT_CELLS, { RUN: 'run-1' }],
  ])('%s is a table, and a wide one has more columns', async (kind, narrow, wide) => {
    expect(await cells('get', kind)).toEqual(narrow);
    expect(await cells('get', kind, '-o', 'table')).toEqual(narrow);
    expect(await cells('get', kind, '-o', 'wide')).toEqual({ ...narrow, ...wide });
  });

  it.each([
    ['pools', { ...POOL, metadata: { name: 'worker', creationTimestamp: CREATED } }],
    ['nodes', NODE],
    ['rollouts', RECORD],
  ])(
    '%s is the same document in JSON and YAML, with the objects as they are',
    async (kind, item) => {
      expect(JSON.parse(await printed('get', kind, '-o', 'json'))).toEqual({ items: [item] });
      expect(parse(await printed('get', kind, '-o', 'yaml'))).toEqual({ items: [item] });
      expect(await printed('get', kind, '-o', 'yaml')).toMatch(/^items:\n {2}- /);
    },
  );
});

describe.each([
  ['plan', ['plan', 'worker'], { pool: 'worker', target: 'new', order: [] }],
  ['rollout status', ['rollout', 'status', 'worker'], { pool: 'worker', config: 'new' }],
  ['node status', ['node', 'status', 'n1'], { node: 'n1', pool: 'worker', state: 'Degraded' }],
])('%s', (_what, line, shown) => {
  it('is the same document in JSON and YAML', async () => {
    const json = JSON.parse(await printed(...line, '-o', 'json')) as unknown;

    expect(json).toMatchObject(shown);
    const yaml = await printed(...line, '-o', 'yaml');
    expect(parse(yaml)).toEqual(json);
    expect(yaml).toMatch(/^\w+: /);
  });

  it('is for people in a table, to which wide has nothing to add', async () => {
    const table = await printed(...line);

    expect(table).toContain('worker');
    expect(await printed(...line, '-o', 'wide')).toBe(table);
  });
});
