import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { WatchEvent } from '../../../adapters/kube/client';
import type { WatchSource } from '../../../adapters/kube/watch';
import type { Writer } from '../../../controllers/fenced-writer';
import { OperatorStatusController } from '../../../controllers/operator-status';
import { fail } from '../../../core/errors';
import type { MachineConfigNode } from '../../../core/node/types';
import type { ClusterOperator, Slipway } from '../../../core/operator-status';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import { Objects } from './listed-objects';

jest.mock('node:timers/promises', () => jest.requireActual<object>('../faked-delay'));

const START = Date.parse('2030-01-01T00:00:00Z');

let leading: AbortController;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
  leading = new AbortController();
});

afterEach(() => {
  leading.abort();
  jest.useRealTimers();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** Stores what is written, as the API server does; its watches show nothing. */
class Server implements WatchSource {
  readonly objects = new Map<string, KubeObject & { readonly status?: object }>();
  readonly writes: string[] = [];
  readonly served = new Set(['slipways', 'clusteroperators', 'pods']);
  readonly refused = new Set<string>();
  #version = 1;

  list = async <T extends KubeObject>(resource: Resource<T>) => {
    if (!this.served.has(resource.plural)) throw fail('ObjectNotFound', 'no kind', { code: 404 });
    const items = [...this.objects].flatMap(([key, object]) =>
      key.startsWith(`${resource.plural}/`) ? [object as unknown as T] : [],
    );
    return { items, resourceVersion: String(this.#version) };
  };

  async *watch<T extends KubeObject>(
    _resource: Resource<T>,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<WatchEvent<T>> {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    yield* [];
  }

  apply: Writer['apply'] = async <T extends KubeObject>(
    resource: Resource<T>,
    applied: { readonly metadata: { readonly name: string }; readonly status?: object },
  ) => {
    const { name } = applied.metadata;
    const key = `${resource.plural}/${name}`;
    const what = applied.status === undefined ? 'object' : 'status';
    if (this.refused.has(resource.plural) && what === 'status') {
      throw fail('ApiForbidden', `may not write ${key}`);
    }
    this.#version += 1;
    this.writes.push(`${key} ${what}`);
    const before = this.objects.get(key) ?? { metadata: { name, uid: `uid-${key}` } };
    const metadata = { ...before.metadata, ...applied.metadata };
    const after = {
      ...before,
      ...applied,
      metadata: { ...metadata, resourceVersion: String(this.#version) },
    };
    this.objects.set(key, after);
    return after as unknown as T;
  };

  get slipway(): Slipway['status'] {
    return (this.objects.get('slipways/cluster') as Slipway | undefined)?.status;
  }

  get clusterOperator(): ClusterOperator['status'] {
    return (this.objects.get('clusteroperators/slipway') as ClusterOperator | undefined)?.status;
  }

  statuses(plural: string): number {
    return this.writes.filter((write) => write.startsWith(plural) && write.endsWith('status'))
      .length;
  }
}

const aPool = (updated: number, of: number): MachineConfigPool => ({
  metadata: { name: 'worker' },
  spec: { configuration: { name: 'rendered-worker-1' } },
  status: {
    ...{ machineCount: of, updatedMachineCount: updated },
    conditions: [
      { type: 'Updated', status: updated === of ? 'True' : 'False', reason: '', message: '' },
      { type: 'Updating', status: updated === of ? 'False' : 'True', reason: '', message: '' },
    ],
  },
});

const aHost = (name: string, version?: string, phase = ''): MachineConfigNode => ({
  metadata: { name, annotations: { phase } },
  spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'x' } },
  status: version === undefined ? {} : { hostWorker: { version } },
});

function start(server: Server, waitsFor: () => readonly string[] = () => []) {
  const pools = new Objects<MachineConfigPool>([aPool(3, 3)]);
  const policies = new Objects<RolloutPolicy>();
  const machineConfigNodes = new Objects<MachineConfigNode>([aHost('n-0', '1')]);
  const lines: string[] = [];
  const told: string[] = [];
  const say = (fields: object, text?: string): void => {
    lines.push(`${text ?? ''} ${JSON.stringify(fields)}`);
  };
  void new OperatorStatusController(
    {
      source: server,
      picture: {
        ...{ pools, machineConfigNodes },
        policies,
        controllerConfigs: new Objects(),
        machineConfigurations: new Objects(),
      },
      writerWith: (absorb) => ({
        apply: async (resource, object, how) => {
          const stored = await server.apply<never>(resource as never, object, how);
          absorb(resource, stored);
          return stored;
        },
      }),
      events: {
        record: ({ resource }, type, reason, message) => {
          told.push(`${resource.kind} ${type} ${reason} ${message}`);
        },
        over: () => undefined,
      },
      log: { debug: () => undefined, info: say, warn: say, error: say },
      ...{ namespace: 'slipway', version: '0.3.0', podName: 'here', rolloutsWaitFor: waitsFor },
      now: () => new Date().toISOString(),
    },
    leading.signal,
  );
  return { pools, policies, machineConfigNodes, lines, told };
}

it('makes both objects, and writes each change once', async () => {
  const server = new Server();
  const { pools } = start(server);
  await pass(10_000);
  expect(server.writes.toSorted()).toEqual([
    'clusteroperators/slipway object',
    'clusteroperators/slipway status',
    'slipways/cluster object',
    'slipways/cluster status',
  ]);
  expect(server.slipway?.conditions).toEqual(server.clusterOperator?.conditions);
  expect(server.clusterOperator?.extension).toMatchObject({ hostWorkers: '1 of 1' });

  pools.put(aPool(2, 3));
  await pass(100_000);

  expect(server.statuses('slipways')).toBe(2);
  expect(server.slipway?.message).toBe('pool worker has 2 of 3 nodes updated');
  expect(server.clusterOperator?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Progressing', status: 'True', reason: 'PoolUpdating' }),
  );
});

it('writes at most once a second, and nothing for what no one sees of 5,000 hosts', async () => {
  const server = new Server();
  const { pools, machineConfigNodes } = start(server);
  await pass(10_000);
  const listed = jest.spyOn(machineConfigNodes, 'list');
  for (let host = 0; host < 5_000; host += 1) {
    machineConfigNodes.put(aHost(`n-${host}`, '1'));
    if (host % 50 === 0) await pass(100);
  }
  await pass(5_000);
  const once = server.statuses('slipways');
  expect(once).toBeLessThanOrEqual(11);
  expect(server.slipway?.hostWorkers).toEqual({
    ...{ reported: 5_000, neverReported: 0 },
    versions: [{ version: '1', hosts: 5_000 }],
  });

  for (let host = 0; host < 5_000; host += 1) {
    machineConfigNodes.put(aHost(`n-${host}`, '1', 'Draining'));
  }
  await pass(5_000);
  expect(server.statuses('slipways')).toBe(once);

  for (let updated = 0; updated < 100; updated += 1) {
    pools.put(aPool(updated, 5_000));
    await pass(100);
  }
  await pass(5_000);
  expect(server.statuses('slipways') - once).toBeLessThanOrEqual(11);
  expect(listed).not.toHaveBeenCalled();
});

it('names the command where the policy of a pool waits for a person', async () => {
  const server = new Server();
  const { pools, policies } = start(server);
  pools.put(aPool(2, 3));
  await pass(5_000);
  policies.put({ metadata: { name: 'worker' }, spec: { trigger: 'Manual' } });
  await pass(5_000);

  expect(server.slipway?.message).toBe(
    'pool worker has 2 of 3 nodes updated, and it waits for a person: slipway rollout start worker',
  );
});

it('leaves a ClusterOperator of another program alone, and says so once', async () => {
  const server = new Server();
  const foreign = { metadata: { name: 'slipway', resourceVersion: '1' }, status: {} };
  server.objects.set('clusteroperators/slipway', foreign);
  const { pools, lines, told } = start(server);
  await pass(5_000);
  pools.put(aPool(2, 3));
  await pass(60_000);

  expect(server.objects.get('clusteroperators/slipway')).toBe(foreign);
  expect(server.slipway?.message).toBe('pool worker has 2 of 3 nodes updated');
  expect(lines.filter((line) => line.includes('not of Slipway'))).toHaveLength(1);
  expect(told.filter((one) => one.startsWith('ClusterOperator'))).toEqual([]);
});

it('begins with a ClusterOperator when its kind is served later', async () => {
  const server = new Server();
  server.served.delete('clusteroperators');
  start(server);
  await pass(60_000);
  expect(server.writes).toEqual(['slipways/cluster object', 'slipways/cluster status']);

  server.served.add('clusteroperators');
  await pass(120_000);

  expect(server.clusterOperator?.versions).toEqual(server.slipway?.versions);
});

it('waits for its own kind, and keeps one that is refused from keeping back the other', async () => {
  const server = new Server();
  server.served.delete('slipways');
  const { lines } = start(server);
  await pass(60_000);
  expect(server.writes).toEqual([]);
  expect(lines.filter((line) => line.includes('kind is not served'))).toHaveLength(1);

  server.refused.add('slipways');
  server.served.add('slipways');
  await pass(10_000);

  expect(server.clusterOperator?.conditions).toHaveLength(4);
  expect(lines.join('\n')).toContain('may not write slipways/cluster');
  server.refused.clear();
  await pass(120_000);
  expect(server.slipway?.conditions).toEqual(server.clusterOperator?.conditions);
});

it('goes on where another leader has stopped, and tells what changes', async () => {
  const server = new Server();
  start(server);
  await pass(5_000);
  leading.abort();
  const [first, writes] = [server.slipway, server.writes.length];
  leading = new AbortController();

  const { pools, told } = start(server);
  await pass(5_000);
  expect(server.writes).toHaveLength(writes);
  expect(server.slipway).toBe(first);
  expect(told).toEqual([]);

  const degraded = { type: 'Degraded', status: 'True', reason: '', message: 'disk full' } as const;
  const pool = aPool(3, 3);
  const conditions = [...(pool.status?.conditions ?? []), degraded];
  pools.put({ ...pool, status: { ...pool.status, conditions } });
  await pass(5_000);
  pools.put({ ...pool, status: { ...pool.status, machineCount: 4, conditions } });
  await pass(5_000);
  expect(told).toEqual(
    ['Slipway', 'ClusterOperator'].map(
      (kind) =>
        `${kind} Warning OperatorDegraded: RequiredPoolsFailed pool worker is degraded: disk full`,
    ),
  );
});

it('is not available when Temporal has not answered for ten minutes', async () => {
  const server = new Server();
  let waitsFor: readonly string[] = ['Temporal at temporal:7233'];
  start(server, () => waitsFor);
  const isAvailable = () =>
    server.slipway?.conditions.find(({ type }) => type === 'Available')?.status;
  await pass(500_000);
  expect(isAvailable()).toBe('True');

  await pass(200_000);
  expect(isAvailable()).toBe('False');
  expect(server.slipway?.message).toContain('waiting for Temporal at temporal:7233');

  waitsFor = [];
  await pass(60_000);
  expect(isAvailable()).toBe('True');
});

it('stays unavailable when the leader changes while Temporal is away', async () => {
  const server = new Server();
  let waitsFor: readonly string[] = ['Temporal at temporal:7233'];
  start(server, () => waitsFor);
  await pass(700_000);
  const availability = () => server.slipway?.conditions.find(({ type }) => type === 'Available');
  const before = availability();
  expect(before?.reason).toBe('TemporalFailed');
  leading.abort();
  leading = new AbortController();

  const { told } = start(server, () => waitsFor);
  await pass(60_000);
  expect(availability()).toMatchObject({
    ...{ status: 'False', reason: 'TemporalFailed' },
    lastTransitionTime: before?.lastTransitionTime,
  });
  expect(told).toEqual([]);

  waitsFor = [];
  await pass(60_000);
  expect(availability()?.status).toBe('True');
  waitsFor = ['Temporal at temporal:7233'];
  await pass(60_000);
  expect(availability()?.status).toBe('True');
});
