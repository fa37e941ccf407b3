import { createHash } from 'node:crypto';
import { pino } from 'pino';
import { canonicalConfig } from '../../../core/machine-config/canonical';
import { fail } from '../../../core/errors';
import { ANNOTATION } from '../../../core/names';
import type { MachineConfig } from '../../../core/machine-config/types';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { buildServer } from '../../../server/app';
import type { PeerSubject } from '../../../server/ports';

const SECRET = 'data:,very-secret';

function aNode(name: string, role: string, annotations: Record<string, string> = {}): Node {
  return {
    metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' }, annotations },
  };
}

function aPool(name: string, target = `rendered-${name}-1`): MachineConfigPool {
  const matchLabels = { [`node-role.kubernetes.io/${name}`]: '' };
  const spec = { nodeSelector: { matchLabels }, configuration: { name: target } };
  return { metadata: { name }, spec };
}

function aRendered(name: string, pool: string): MachineConfig {
  return {
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'v1', kind: 'MachineConfigPool', name: pool, uid: '1' }],
    },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: { files: [{ path: '/etc/a', contents: { source: SECRET } }] },
      },
    },
  };
}

function aMachineConfigNode(name: string, pool: string): MachineConfigNode {
  return {
    metadata: { name },
    spec: { node: { name }, pool: { name: pool }, configVersion: { desired: 'rendered-worker-1' } },
    status: { configVersion: { current: 'rendered-worker-0', desired: 'rendered-worker-1' } },
  };
}

function peer(node: string): PeerSubject {
  return { commonNames: [`system:node:${node}`], organizations: ['system:nodes'] };
}

interface Seen {
  readonly missing?: readonly string[];
  readonly alsoMissing?: readonly string[];
  readonly shownPools?: Readonly<Record<string, string>>;
  readonly nodes?: readonly Node[];
  readonly configs?: readonly MachineConfig[];
  /** The nodes in the API server; default: as in the cache. */
  readonly nodesNow?: readonly Node[];
  readonly pools?: readonly string[];
  readonly wallClock?: () => number;
  /** By pool; default: `rendered-<pool>-1`. */
  readonly targets?: Readonly<Record<string, string>>;
  /** The pools in the API server; default: as in the cache. */
  readonly poolsNow?: readonly MachineConfigPool[];
}

const POOLS = ['worker', 'master', 'infra'];

function aServer(options: Seen = {}) {
  const nodes = options.nodes ?? [aNode('worker-1', 'worker'), aNode('master-1', 'master')];
  const configs = [
    ...(options.configs ?? []),
    aRendered('rendered-worker-1', 'worker'),
    aRendered('rendered-master-1', 'master'),
  ];
  const lines: string[] = [];
  const state = {
    away: false,
    now: 0,
    reads: 0,
    looks: 0,
    peer: peer('worker-1') as PeerSubject | undefined,
  };
  const server = buildServer({
    cluster: {
      node: (name) => nodes.find(({ metadata }) => metadata.name === name),
      nodes: () => nodes,
      pools: () => (options.pools ?? POOLS).map((name) => aPool(name, options.targets?.[name])),
      granted: () => [],
      machineConfigNode: (name) => {
        const pool = options.shownPools?.[name];
        return pool === undefined ? undefined : aMachineConfigNode(name, pool);
      },
      policy: () => undefined,
      machineConfiguration: () => undefined,
      pinnedImageSets: () => [],
      missing: () => options.missing ?? [],
      onMoved: () => () => undefined,
    },
    writeDrift: () => Promise.reject(new Error('nothing is reported here')),
    async readMachineConfig(name) {
      state.reads += 1;
      if (state.away) throw fail('ApiUnavailable', `get ${name}: connection refused`);
      return configs.find(({ metadata }) => metadata.name === name);
    },
    async readNode(name) {
      state.looks += 1;
      if (state.away) throw fail('ApiUnavailable', `get ${name}: connection refused`);
      return (options.nodesNow ?? nodes).find(({ metadata }) => metadata.name === name);
    },
    async readPools() {
      if (state.away) throw fail('ApiUnavailable', 'list pools: connection refused');
      const names = options.pools ?? POOLS;
      return options.poolsNow ?? names.map((name) => aPool(name, options.targets?.[name]));
    },
    logger: pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }),
    identify: () => state.peer,
    clock: () => state.now,
    ...(options.wallClock === undefined ? {} : { wallClock: options.wallClock }),
    alsoMissing: () => options.alsoMissing ?? [],
  });
  const get = (name: string, headers: Record<string, string> = {}) =>
    server.host.inject({ url: `/host/configs/${name}`, headers });
  return { ...server, state, lines, get, configs };
}

it('shows when a node was last heard, as long as there is such a node', async () => {
  const nodes = [aNode('worker-1', 'worker')];
  const wallClock = (): number => 7_000;
  const { get, plain, state } = aServer({ nodes, wallClock });
  const heard = async (): Promise<readonly string[]> =>
    (await plain.inject('/metrics')).body
      .split('\n')
      .filter((line) => line.startsWith('slipway_server_host_heard_timestamp_seconds'));

  expect(await heard()).toEqual([]);
  await get('rendered-worker-1');
  state.peer = peer('unknown');
  await get('rendered-worker-1');
  expect(await heard()).toEqual(['slipway_server_host_heard_timestamp_seconds{node="worker-1"} 7']);
  nodes.pop();
  expect(await heard()).toEqual([]);
});

describe('the host endpoint', () => {
  it('answers a node that asks in a loop with 429 and when to ask again, and other nodes as ever', async () => {
    const { get, state, lines } = aServer();
    const ask = async () => {
      const { statusCode, headers } = await get('rendered-worker-1');
      return [statusCode, headers['retry-after']];
    };
    for (let i = 0; i < 60; i += 1) expect(await ask()).toEqual([200, undefined]);

    expect(await ask()).toEqual([429, '1']);
    expect(await ask()).toEqual([429, '1']);
    state.peer = peer('master-1');
    expect((await get('rendered-master-1')).statusCode).toBe(200);
    state.peer = peer('worker-1');
    state.now = 1_000;
    expect(await ask()).toEqual([200, undefined]);
    expect(lines.filter((line) => line.includes('requests refused'))).toHaveLength(1);
  });

  it('limits what comes from no node by its address, whatever it asks', async () => {
    const { host, state } = aServer();
    state.peer = { commonNames: ['admin'], organizations: [] };
    const ask = async (remoteAddress: string) =>
      (await host.inject({ url: '/no/such/path', remoteAddress })).statusCode;
    for (let i = 0; i < 1_000; i += 1) expect(await ask('192.0.2.1')).toBe(404);

    expect(await ask('192.0.2.1')).toBe(429);
    expect(await ask('192.0.2.2')).toBe(404);
  });

  it('answers the canonical bytes of a config of the own pool, with their digest', async () => {
    const { get, configs } = aServer();

    const answer = await get('rendered-worker-1');

    const expected = canonicalConfig(configs[0] as MachineConfig);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe(expected);
    expect(answer.headers.etag).toBe(`"${createHash('sha256').update(expected).digest('hex')}"`);
    expect(
      (await get('rendered-worker-1', { 'if-none-match': String(answer.headers.etag) })).statusCode,
    ).toBe(304);
  });

  it('refuses a config of another pool and says whose it is', async () => {
    const answer = await aServer().get('rendered-master-1');

    expect(answer.statusCode).toBe(403);
    expect(answer.json()).toEqual({
      status: 403,
      reason: 'Forbidden',
      message: 'config rendered-master-1 belongs to pool master, node worker-1 to pool worker',
    });
  });

  it('gives a node the config of the pool to which a label has just moved it', async () => {
    const nodes = [aNode('worker-1', 'infra')];
    const { get, state } = aServer({ nodes, nodesNow: [aNode('worker-1', 'worker')] });

    expect((await get('rendered-worker-1')).statusCode).toBe(200);
    expect(state.looks).toBe(1);
    // For all other nodes the cache is enough.
    expect((await aServer().get('rendered-worker-1')).statusCode).toBe(200);
  });

  it('gives a node the config of the pool whose selector has just come to mean it', async () => {
    const matchLabels = { zone: 'a' };
    const { metadata, spec } = aPool('infra');
    const infra = { metadata, spec: { ...spec, nodeSelector: { matchLabels } } };
    const node = aNode('worker-1', 'other');
    const moved: Node = {
      metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...matchLabels } },
    };
    const config = aRendered('rendered-infra-1', 'infra');
    const seen = { nodes: [moved], configs: [config] };

    const { get } = aServer({ ...seen, poolsNow: [aPool('worker'), infra] });

    expect((await get('rendered-infra-1')).statusCode).toBe(200);
    expect((await aServer(seen).get('rendered-infra-1')).statusCode).toBe(403);
  });

  it('limits reads of unknown nodes, and refuses no node for good without a read', async () => {
    const { get, state } = aServer();
    expect((await get('rendered-master-1')).statusCode).toBe(403);
    // The config is cached, so the failure is that of reading the Node.
    state.away = true;
    const unread = await get('rendered-master-1');
    state.away = false;
    for (let i = 0; i < 20; i += 1) {
      expect((await get('rendered-master-1')).statusCode).toBe(403);
    }

    expect(unread.statusCode).toBe(503);
    expect(state.looks).toBeLessThan(10);
  });

  it('asks to come again when it has not seen the pool of the config yet', async () => {
    const answer = await aServer({ pools: ['master'] }).get('rendered-worker-1');

    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBeDefined();
    expect(answer.body).toContain('pool worker of config rendered-worker-1 is not known');
  });

  it('gives a node on its way between pools the configs of the one it leaves, but never of masters', async () => {
    const leaving = (pool: string) =>
      aServer({ nodes: [aNode('worker-1', 'infra')], shownPools: { 'worker-1': pool } });

    expect((await leaving('worker').get('rendered-worker-1')).statusCode).toBe(200);
    expect((await leaving('infra').get('rendered-worker-1')).statusCode).toBe(403);
    expect((await leaving('master').get('rendered-master-1')).statusCode).toBe(403);
  });

  it('gives a node what it goes to and what it comes from, and nothing else of its pool', async () => {
    const names = ['0', '1', '2', '3'].map((number) => `rendered-worker-${number}`);
    const configs = names.map((name) => aRendered(name, 'worker'));
    const seen = { configs, targets: { worker: 'rendered-worker-2' } };
    const codes = async (server: ReturnType<typeof aServer>) =>
      Promise.all(names.map(async (name) => (await server.get(name)).statusCode));

    // 0 is what it runs, 1 what it is updated to while the pool wants 2.
    expect(await codes(aServer({ ...seen, shownPools: { 'worker-1': 'worker' } }))).toEqual([
      200, 200, 200, 409,
    ]);
    expect(await codes(aServer(seen))).toEqual([409, 409, 200, 409]);
    expect((await aServer(seen).get('rendered-worker-3')).json()).toMatchObject({
      message:
        'config rendered-worker-3 is not the target of pool worker, and node worker-1 neither runs it nor is updated to it',
    });
  });

  it('gives a node the target that its pool has just got', async () => {
    const poolsNow = [aPool('worker', 'rendered-worker-2')];
    const { get, state } = aServer({
      configs: [aRendered('rendered-worker-2', 'worker')],
      poolsNow,
    });

    expect((await get('rendered-worker-2')).statusCode).toBe(200);
    expect(state.looks).toBe(1);
  });

  it('gives a node that was taken out of all pools no config of the one it was in', async () => {
    const lonely: Node = { metadata: { name: 'worker-1', labels: {} } };
    const server = aServer({ nodes: [lonely], shownPools: { 'worker-1': 'worker' } });

    const reply = await server.get('rendered-worker-1');

    expect(reply.statusCode).toBe(403);
    expect(reply.json()).toMatchObject({
      message: 'config rendered-worker-1 belongs to pool worker, node worker-1 to none',
    });
  });

  it('takes nothing from annotations, which a kubelet may write on its own Node', async () => {
    const annotations = {
      [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-1',
      [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-1',
    };
    const server = aServer({
      nodes: [aNode('worker-1', 'infra', annotations)],
      shownPools: { 'worker-1': 'infra' },
    });

    expect((await server.get('rendered-worker-1')).statusCode).toBe(403);
  });

  it.each([
    ['no certificate', undefined],
    ['a user', { commonNames: ['admin'], organizations: ['system:masters'] }],
    ['a node name without the group', { commonNames: ['system:node:worker-1'], organizations: [] }],
    [
      'the group without a node name',
      { commonNames: ['worker-1'], organizations: ['system:nodes'] },
    ],
    [
      'two names',
      { commonNames: ['system:node:worker-1', 'system:node:b'], organizations: ['system:nodes'] },
    ],
  ])('refuses %s', async (_what, subject) => {
    const server = aServer();
    server.state.peer = subject;

    expect((await server.get('rendered-worker-1')).statusCode).toBe(401);
    expect(server.state.reads).toBe(0);
  });

  it('decides nothing before it has seen the cluster', async () => {
    const server = aServer({ missing: ['nodes', 'machineconfigpools'], nodes: [] });

    const answer = await server.get('rendered-worker-1');

    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({
      reason: 'NotReady',
      message: 'not seen yet: nodes, machineconfigpools',
    });
  });

  it('asks a node that the cluster does not know to come back', async () => {
    const server = aServer();
    server.state.peer = peer('stranger');

    const answer = await server.get('rendered-worker-1');

    expect(answer.statusCode).toBe(503);
    expect(answer.headers['retry-after']).toBe('5');
    expect(answer.json()).toMatchObject({ message: 'node stranger is not known to the cluster' });
    // Nothing is read for it either.
    expect(server.state.reads).toBe(0);
  });

  it('tells an unknown config from a name that cannot be one', async () => {
    const { get } = aServer();

    expect((await get('rendered-worker-9')).statusCode).toBe(404);
    expect((await get('..%2F..%2Fsecrets')).statusCode).toBe(400);
  });

  it('refuses what is no URL in its own form', async () => {
    const { host, plain } = aServer();

    for (const app of [host, plain]) {
      const answer = await app.inject({ url: '/host/configs/%' });

      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toEqual({
        status: 400,
        reason: 'BadRequest',
        message: 'the path cannot be decoded',
      });
    }
  });

  it.each([
    ['POST', '/host/configs/rendered-worker-1', 'GET, HEAD'],
    ['PURGE', '/host/configs/rendered-worker-1', 'GET, HEAD'],
    ['GET', '/host/report', 'PUT'],
    ['HEAD', '/host/report', 'PUT'],
    ['DELETE', '/host/report', 'PUT'],
    ['QUERY', '/host/report', 'PUT'],
  ])('says which methods it takes instead of %s %s', async (method, url, allow) => {
    const { host, state } = aServer();

    const answer = await host.inject({
      method: method as 'GET',
      url,
      ...(method === 'POST' ? { payload: '{', headers: { 'content-type': 'text/plain' } } : {}),
    });

    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe(allow);
    if (method !== 'HEAD') {
      expect(answer.json()).toMatchObject({ status: 405, reason: 'MethodNotAllowed' });
    }
    expect(state.reads).toBe(0);
  });

  it('answers 404 for unknown paths, whatever the method', async () => {
    const { host } = aServer();

    for (const method of ['GET', 'PUT', 'PURGE' as 'GET']) {
      expect((await host.inject({ method: method as 'GET', url: '/host/other' })).statusCode).toBe(
        404,
      );
    }
  });

  it('knows configs by their whole name, as long as the longest pool makes it', async () => {
    const pool = 'p'.repeat(63);
    const name = `rendered-${pool}-${'0'.repeat(32)}`;
    const server = aServer({
      nodes: [aNode('worker-1', pool)],
      pools: [pool, 'worker'],
      targets: { [pool]: name },
    });
    server.configs.push(aRendered(name, pool));

    expect((await server.get(name)).statusCode).toBe(200);
    expect((await server.get('a'.repeat(254))).json()).toMatchObject({ reason: 'BadName' });
  });

  it('serves what it has while the API server is away, and says when it has not', async () => {
    const server = aServer();
    await server.get('rendered-worker-1');
    server.state.away = true;

    expect((await server.get('rendered-worker-1')).statusCode).toBe(200);
    const other = await server.get('rendered-worker-2');
    expect(other.statusCode).toBe(503);
    expect(other.headers['retry-after']).toBe('5');
  });

  it('reads a config once, however many hosts ask for it together', async () => {
    const server = aServer();

    await Promise.all(Array.from({ length: 20 }, () => server.get('rendered-worker-1')));

    expect(server.state.reads).toBe(1);
  });

  it('logs names and never contents', async () => {
    const server = aServer();
    await server.get('rendered-worker-1');
    await server.get('rendered-master-1');

    expect(server.lines.join('')).toContain('rendered-master-1');
    expect(server.lines.join('')).not.toContain('very-secret');
  });
});

describe('the plain endpoints', () => {
  it('are ready once the cluster was seen', async () => {
    expect((await aServer().plain.inject('/readyz')).statusCode).toBe(200);

    const waiting = await aServer({ missing: ['nodes'] }).plain.inject('/readyz');
    expect(waiting.statusCode).toBe(503);
    expect(waiting.json()).toMatchObject({ message: 'not seen yet: nodes' });
    expect((await aServer({ missing: ['nodes'] }).plain.inject('/healthz')).statusCode).toBe(200);
  });

  it('are ready once the join tokens were seen, too', async () => {
    const waiting = aServer({ alsoMissing: ['join tokens'] });

    const answer = await waiting.plain.inject('/readyz');

    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ message: 'not seen yet: join tokens' });
    // They do not concern hosts.
    expect((await waiting.get('rendered-worker-1')).statusCode).toBe(200);
  });

  it('count requests by endpoint and code', async () => {
    const server = aServer();
    await server.get('rendered-worker-1');
    await server.get('rendered-master-1');

    const { body } = await server.plain.inject('/metrics');

    expect(body).toContain(
      'slipway_server_requests_total{endpoint="/host/configs/:name",code="200"} 1',
    );
    expect(body).toContain('code="403"} 1');
    expect(body).toContain('slipway_server_config_lookups{from="api"} 2');
  });

  it('do not offer configs', async () => {
    const answer = await aServer().plain.inject('/host/configs/rendered-worker-1');

    expect(answer.statusCode).toBe(404);
  });
});
