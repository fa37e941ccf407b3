import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { follow } from '../../observer/follow';
import { Sight } from '../../observer/sight';

interface Told {
  readonly type: string;
  readonly name?: string;
  /** Absent = the name. */
  readonly uid?: string;
  readonly version: string;
}

/** Events of each watch before it is cut; the last one stays open. */
let watches: Told[][];
let asked: URLSearchParams[];
let server: Server;
/** Stop functions: a watch that a test leaves open would be reopened for ever. */
let stops: (() => void)[];

beforeEach(async () => {
  asked = [];
  stops = [];
  server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://here').searchParams);
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const { type, name, uid = name, version } of watches.shift() ?? []) {
      const metadata = { name, uid, resourceVersion: version };
      response.write(`${JSON.stringify({ type, object: { metadata } })}\n`);
    }
    if (watches.length > 0) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(() => {
  for (const stop of stops) stop();
  server.closeAllConnections();
  server.close();
});

interface Seen {
  readonly seen: string[];
  readonly gone: string[];
  readonly told: string[];
  readonly sight: Sight;
  readonly loss: Promise<void>;
  stop(): void;
}

async function following(): Promise<Seen> {
  const config = new KubeConfig();
  const { port } = server.address() as AddressInfo;
  const cluster = { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: 'u' });
  const seen: string[] = [];
  const gone: string[] = [];
  const told: string[] = [];
  const nameOf = (object: { metadata?: { name?: string } }) => object.metadata?.name ?? '';
  let lost = (): void => undefined;
  const loss = new Promise<void>((resolve) => {
    lost = resolve;
  });
  const sight = new Sight('nodes', performance.now(), () => undefined);
  const followed = await follow(config, {
    sight,
    path: '/api/v1/nodes',
    seen: (object) => {
      seen.push(nameOf(object));
      told.push(`${object.metadata?.uid} is seen`);
    },
    gone: (object) => {
      gone.push(nameOf(object));
      told.push(`${object.metadata?.uid} is gone`);
      lost();
    },
  });
  stops.push(() => followed.stop());
  return { seen, gone, told, sight, loss, stop: () => followed.stop() };
}

test('a list that is cut is begun again, not resumed at one of its objects', async () => {
  watches = [
    [{ type: 'ADDED', name: 'b', version: '7' }],
    [
      { type: 'ADDED', name: 'a', version: '5' },
      { type: 'ADDED', name: 'b', version: '7' },
      { type: 'BOOKMARK', version: '9' },
    ],
  ];
  const followed = await following();
  followed.stop();
  expect(asked.map((query) => query.get('resourceVersion'))).toEqual([null, null]);
  expect(followed.seen).toEqual(['b', 'a', 'b']);
});

test('a watch that is cut is resumed, and one that is too old finds out what is gone', async () => {
  watches = [
    [
      { type: 'ADDED', name: 'a', version: '5' },
      { type: 'BOOKMARK', version: '9' },
    ],
    [{ type: 'ERROR', version: '' }],
    [
      { type: 'ADDED', name: 'b', version: '12' },
      { type: 'BOOKMARK', version: '13' },
    ],
  ];
  const followed = await following();
  await followed.loss;
  followed.stop();
  expect(asked.map((query) => query.get('resourceVersion'))).toEqual([null, '9', null]);
  expect(followed.gone).toEqual(['a']);
});

test('one that was replaced by another of its name meanwhile is gone before that is seen', async () => {
  const bookmark = { type: 'BOOKMARK', version: '9' };
  watches = [
    [{ type: 'ADDED', name: 'a', uid: 'first', version: '5' }, bookmark],
    [{ type: 'ERROR', version: '' }],
    [{ type: 'ADDED', name: 'a', uid: 'second', version: '12' }, bookmark],
  ];
  const followed = await following();
  await followed.loss;
  followed.stop();
  expect(followed.told).toEqual(['first is seen', 'first is gone', 'second is seen']);
}, 10_000);

test('it sees while the server answers, and is blind when it does not', async () => {
  watches = [[{ type: 'BOOKMARK', version: '9' }]];
  const followed = await following();
  expect(followed.sight.blindMs(performance.now())).toBe(0);
  const isCut = new Promise<void>((resolve) => {
    const lost = followed.sight.lost.bind(followed.sight);
    followed.sight.lost = (nowMs) => {
      lost(nowMs);
      resolve();
    };
  });
  server.closeAllConnections();
  server.close();
  await isCut;
  expect(followed.sight.blindMs(Infinity)).toBe(Infinity);
  followed.stop();
});
