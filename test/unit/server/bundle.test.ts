import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { fail } from '../../../core/errors';
import { bundleOfPool, composeBundle } from '../../../core/host-bundle';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { Condition } from '../../../core/object-meta';
import { buildServer } from '../../../server/app';
import type { PeerSubject } from '../../../server/ports';
import { newAuthority } from '../../../tools/cluster/certificates';

const WORKER = 'node-role.kubernetes.io/worker';
const MASTER = 'node-role.kubernetes.io/master';
const SECRET = 'TOPSECRET';

const peer = (node: string): PeerSubject => ({
  commonNames: [`system:node:${node}`],
  organizations: ['system:nodes'],
});

function contentsOf(spec: object) {
  const config = Buffer.from(JSON.stringify({ auths: { a: { auth: SECRET } } })).toString('base64');
  return composeBundle(
    { spec: { pullSecret: { namespace: 'ns', name: 'ps' }, ...spec } },
    {
      state: 'found',
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': config },
    },
  );
}

function aServer(holdMs = 3_600_000) {
  const state = {
    peer: peer('worker-1') as PeerSubject | undefined,
    contents: contentsOf({}) as ReturnType<typeof composeBundle> | undefined,
    /** By pool, instead of the common contents. */
    own: {} as Record<string, ReturnType<typeof composeBundle>>,
    labels: { 'worker-1': { [WORKER]: '' }, 'master-1': { [MASTER]: '' }, lost: {} } as Record<
      string,
      Record<string, string>
    >,
    away: false,
    changed: () => undefined as void,
    moved: (_node?: string) => undefined as void,
    /** Before a condition is written. */
    writing: async (_condition: Condition) => undefined as void,
  };
  const written: { node: string; condition: Condition }[] = [];
  const lines: string[] = [];
  const nodes = (): Node[] =>
    Object.entries(state.labels).map(([name, labels]) => ({ metadata: { name, labels } }));
  const pool = (name: string) => ({
    metadata: { name },
    spec: { nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } } },
  });
  const states = new Map<string, MachineConfigNode>(
    Object.keys(state.labels).map((name) => [
      name,
      {
        metadata: { name, uid: name, resourceVersion: '1' },
        spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'a' } },
      },
    ]),
  );
  const server = buildServer({
    cluster: {
      node: (name) => nodes().find(({ metadata }) => metadata.name === name),
      nodes,
      pools: () => [pool('worker'), pool('master')],
      granted: () => [],
      machineConfigNode: (name) => states.get(name),
      policy: () => undefined,
      machineConfiguration: () => undefined,
      pinnedImageSets: () => [],
      missing: () => [],
      onMoved: (listener) => {
        state.moved = listener;
        return () => undefined;
      },
    },
    bundles: {
      contents: () => state.contents,
      missing: () => [],
      bundleOf: (name) => {
        const own = state.own[name] ?? state.contents;
        return own && bundleOfPool(name, own);
      },
      onChange: (listener) => {
        state.changed = listener;
        return () => undefined;
      },
    },
    writeBundle: async (node, [condition]) => {
      if (condition === undefined) throw new Error('nothing to write');
      if (state.away) throw fail('ApiUnavailable', 'connection refused');
      await state.writing(condition);
      const known = states.get(node);
      if (known === undefined) throw fail('ObjectNotFound', node);
      written.push({ node, condition });
      const resourceVersion = String(written.length + 1);
      const next = {
        ...known,
        metadata: { ...known.metadata, resourceVersion },
        status: { conditions: [condition] },
      };
      states.set(node, next);
      return next;
    },
    readMachineConfig: async () => undefined,
    readNode: async (name) => nodes().find(({ metadata }) => metadata.name === name),
    readPools: async () => [pool('worker'), pool('master')],
    writeDrift: () => Promise.reject(new Error('not written here')),
    logger: pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }),
    identify: () => state.peer,
    holdMs,
  });
  const put = (payload: object) =>
    server.host.inject({
      method: 'PUT',
      url: '/host/bundle',
      payload,
      headers: { 'content-type': 'application/json' },
    });
  return { state, written, lines, put, states, host: server.host };
}

const digestIn = (answer: { json(): unknown }) => (answer.json() as { digest: string }).digest;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('PUT /host/bundle', () => {
  it('gives a host the bundle of its pool, and logs no content', async () => {
    const { put, lines, state } = aServer();

    const answer = await put({});

    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual(bundleOfPool('worker', contentsOf({})));
    expect(answer.headers['cache-control']).toBe('private, no-store');
    expect(lines.join('')).not.toContain(SECRET);
    expect(lines.join('')).not.toContain(Buffer.from(SECRET).toString('base64').slice(0, 8));
    state.peer = peer('master-1');
    expect((await put({})).json()).toMatchObject({ pool: 'master' });
  });

  it.each<[string, PeerSubject | undefined, object, number, RegExp]>([
    [
      'somebody who is no node',
      { commonNames: ['a'], organizations: [] },
      {},
      401,
      /not that of a node/,
    ],
    ['a node in no pool', peer('lost'), {}, 403, /node lost is in no pool/],
    ['an unknown node', peer('stranger'), {}, 503, /not known/],
    ['a host that names a pool', peer('worker-1'), { pool: 'master' }, 400, /pool/],
    ['a digest that is none', peer('worker-1'), { digest: 'a' }, 400, /digest: is not a SHA-256/],
  ])('refuses %s', async (_who, subject, body, status, says) => {
    const { put, state, written } = aServer();
    state.peer = subject;

    const answer = await put(body);

    expect(answer.statusCode).toBe(status);
    expect(answer.body).toMatch(says);
    expect(answer.body).not.toContain('files');
    expect(written).toEqual([]);
  });

  it('lets the answer wait until there is another bundle', async () => {
    const { put, state, written } = aServer();
    const given = digestIn(await put({}));
    const waiting = put({ digest: given, given });
    await turn();
    await turn();
    const { certificate } = await newAuthority('new');
    state.contents = contentsOf({
      kubeAPIServerServingCAData: Buffer.from(certificate).toString('base64'),
    });
    state.changed();

    const answer = await waiting;

    expect(answer.statusCode).toBe(200);
    expect(digestIn(answer)).not.toBe(given);
    expect(
      written.map(({ node, condition: { status, reason } }) => [node, status, reason]),
    ).toEqual([['worker-1', 'True', 'Written']]);
  });

  it('answers 204 when there is none for a while, and when the server ends', async () => {
    const short = aServer(1);
    const given = digestIn(await short.put({}));
    expect((await short.put({ digest: given, given })).statusCode).toBe(204);
    short.state.contents = undefined;
    expect((await short.put({})).statusCode).toBe(204);

    const long = aServer();
    const waiting = long.put({ digest: given, given });
    await turn();
    await turn();
    await Promise.all([long.host.close(), waiting]);
    expect((await waiting).statusCode).toBe(204);
  });

  it('gives nothing of its old pool to a node that moved while it waited', async () => {
    const { put, state } = aServer();
    const given = digestIn(await put({}));
    const waiting = put({ digest: given, given });
    await turn();
    await turn();
    state.labels['worker-1'] = {};
    state.contents = contentsOf({ pullSecret: undefined });
    state.changed();

    expect((await waiting).statusCode).toBe(204);
  });

  it('gives a bundle that has changed while the report was written', async () => {
    const { put, state } = aServer();
    const given = digestIn(await put({}));
    state.writing = async () => {
      state.contents = contentsOf({ pullSecret: undefined });
      state.changed();
    };

    const answer = await put({ digest: given, given });

    expect(answer.statusCode).toBe(200);
    expect(digestIn(answer)).not.toBe(given);
  });

  it('gives the bundle of its new pool at once to a node that moved while it waited', async () => {
    const { put, state } = aServer();
    state.own['master'] = contentsOf({ pullSecret: undefined });
    const given = digestIn(await put({}));
    const waiting = put({ digest: given, given });
    await turn();
    await turn();
    state.labels['worker-1'] = { [MASTER]: '' };
    state.moved('worker-1');

    expect((await waiting).json()).toMatchObject({ pool: 'master' });
  });

  it('lets the answer wait on when nodes of other hosts or pools move', async () => {
    const { put, state, host } = aServer();
    const given = digestIn(await put({}));
    let isAnswered = false;
    const waiting = put({ digest: given, given }).finally(() => {
      isAnswered = true;
    });
    await turn();
    await turn();
    state.moved('master-1');
    state.moved();
    await turn();
    await turn();

    expect(isAnswered).toBe(false);
    await host.close();
    await waiting;
  });

  it('shows the newer of two reports, also when the older one is slow to write', async () => {
    const { put, state, written } = aServer(1);
    const given = digestIn(await put({}));
    let goOn = (): void => undefined;
    state.writing = ({ reason }) =>
      reason === 'Written' ? Promise.resolve() : new Promise((resolve) => (goOn = resolve));
    const older = put({ given, problem: 'disk full' });
    await turn();
    await turn();
    const newer = put({ given, digest: given });
    await turn();
    await turn();
    goOn();
    await Promise.all([older, newer]);

    expect(written.map(({ condition: { reason } }) => reason)).toEqual(['NotWritten', 'Written']);
  });

  it('gives nothing to a host that left while its report was written', async () => {
    const { state, lines, host, put } = aServer();
    const given = digestIn(await put({}));
    let goOn = (): void => undefined;
    const isWriting = new Promise<void>((begun) => {
      state.writing = () => {
        begun();
        return new Promise((resolve) => (goOn = resolve));
      };
    });
    const accepted = once(host.server, 'connection') as Promise<[Socket]>;
    const url = new URL('/host/bundle', await host.listen({ port: 0 }));
    const headers = { 'content-type': 'application/json' };
    const asking = request(url, { method: 'PUT', headers, agent: false });
    asking.on('error', () => undefined);
    asking.end(JSON.stringify({ digest: given, given }));
    await isWriting;
    const [socket] = await accepted;
    const hasLeft = once(socket, 'close');
    asking.destroy();
    await hasLeft;
    lines.length = 0;
    goOn();
    await turn();
    await turn();
    state.contents = contentsOf({ pullSecret: undefined });
    state.changed();
    await host.close();

    expect(lines.filter((line) => line.includes('bundle sent'))).toEqual([]);
  });

  it('shows why a host has not written it, once, and again when it has', async () => {
    const { put, written } = aServer(1);
    const given = digestIn(await put({}));

    await put({ given, problem: 'disk full' });
    await put({ given, problem: 'disk full' });
    await put({ given, digest: given });

    expect(written.map(({ condition: { status, reason } }) => [status, reason])).toEqual([
      ['False', 'NotWritten'],
      ['True', 'Written'],
    ]);
  });

  it('shows a source that is wrong', async () => {
    const { put, state, written } = aServer(1);
    state.contents = contentsOf({ cloudProviderCAData: 'ä' });
    const given = digestIn(await put({}));
    await put({ given, digest: given });

    expect(written[0]?.condition).toMatchObject({
      status: 'False',
      reason: 'InvalidSource',
      message: expect.stringContaining('spec.cloudProviderCAData is not base 64; write') as string,
    });
  });

  it('has the host ask again where nothing can be shown', async () => {
    const { put, state, states } = aServer(1);
    const given = digestIn(await put({}));
    state.away = true;
    expect((await put({ given, digest: given })).statusCode).toBe(503);
    states.clear();
    expect((await put({ given, digest: given })).body).toContain('no MachineConfigNode worker-1');
  });
});
