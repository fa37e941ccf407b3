/**
 * A client with the valid certificate of another host tries all that there is to call at the gateway and at
 * the server, while a host goes on with its orders.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { MACHINE_CONFIG_NODES } from '../../../adapters/kube/resources';
import { CLUSTER_QUEUE, hostQueue, poolRolloutId, updateNodeId } from '../../../core/names';
import { createLogger } from '../../../process/logging';
import { installTemporalRuntime } from '../../../process/temporal/runtime';
import { temporalClient } from '../../../tools/temporal';
import { eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';
import {
  startGatewayFixture,
  startWorker,
  type GatewayFixture,
  type RunningGateway,
} from './gateway-fixture';
import { call, framed, openSession, type ClientFiles } from './grpc-client';
import { describedCalls, describedNames, oddCalls, passingCalls, type Aim } from './hostile-calls';
import { openTls, STRANGE_BYTES } from './hostile-connections';
import {
  askRoute,
  hostileRequests,
  isRefusal,
  sendSlowly,
  watchRoutes,
  type RouteAnswer,
  type ServedRoute,
} from './hostile-routes';

jest.setTimeout(300_000);

const VICTIM = 'victim';
const THIEF = 'thief';
const {
  PollActivityTaskQueueRequest,
  PollActivityTaskQueueResponse,
  RecordActivityTaskHeartbeatRequest,
} = temporal.api.workflowservice.v1;
const OF_A_WORKER = [
  'DescribeNamespace',
  'GetSystemInfo',
  'PollActivityTaskQueue',
  'RecordActivityTaskHeartbeat',
  'RespondActivityTaskCompleted',
];
const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';
/** In front of Temporal's own token. */
const TOKEN_HEAD_BYTES = 33;
const RUNNING = [updateNodeId(VICTIM), poolRolloutId('worker')];

/** Of the gateway and the server together. */
const count = { tried: 0, refused: 0 };

let fixture: GatewayFixture;
let gateway: RunningGateway;
let client: Client;
let thief: ClientFiles;
let victim: ClientFiles;
let worker: { stop(): Promise<void> };
let orders: { readonly done: () => number; stop(): Promise<void> };
let aim: Aim;

beforeAll(async () => {
  fixture = await startGatewayFixture();
  gateway = await fixture.start();
  client = await temporalClient(fixture.temporal);
  installTemporalRuntime(createLogger({ process: 'test', level: 'silent' }));
  [thief, victim] = await Promise.all([fixture.filesOf(THIEF), fixture.filesOf(VICTIM)]);
  aim = await takeAim();
  const place = { node: VICTIM, files: victim, namespace: fixture.temporal.namespace };
  worker = await startWorker(gateway, place, {
    async work(text: string) {
      Context.current().heartbeat(text);
      return text;
    },
  });
  orders = giveOrders();
});

afterAll(async () => {
  process.stdout.write(`tried ${count.tried}, refused ${count.refused}\n`);
  await orders?.stop();
  await worker?.stop();
  await gateway?.stop();
  await client?.connection.close();
  await fixture?.stop();
});

/** Both poll by themselves: their tokens are known, and Temporal's own token is cut out of one. */
async function takeAim(): Promise<Aim> {
  const { namespace } = fixture.temporal;
  const taskToken = await takeTask('stolen', VICTIM, victim);
  for (const workflowId of RUNNING) {
    // Nobody works for it.
    await client.workflow.start('any', { workflowId, taskQueue: CLUSTER_QUEUE });
  }
  return {
    ...{ namespace, thief: THIEF, victim: VICTIM },
    targets: [
      ...RUNNING.map((workflowId) => ({ workflowId, activityId: '1' })),
      { workflowId: '', activityId: 'stolen' },
    ],
    tokens: [taskToken, taskToken.subarray(TOKEN_HEAD_BYTES)],
    ownToken: await takeTask('own', THIEF, thief),
  };
}

/** @returns the token, as the gateway gives it */
async function takeTask(id: string, node: string, files: ClientFiles): Promise<Uint8Array> {
  const { namespace } = fixture.temporal;
  await client.activity.start('never', {
    id,
    taskQueue: hostQueue(node),
    startToCloseTimeout: '10m',
    retry: { maximumAttempts: 1 },
  });
  const session = await openSession(gateway.url, files);
  const taskQueue = { name: hostQueue(node) };
  const poll = PollActivityTaskQueueRequest.encode({ namespace, taskQueue }).finish();
  const { message } = await call(session, `${SERVICE}/PollActivityTaskQueue`, framed(poll));
  session.close();
  const { taskToken } = PollActivityTaskQueueResponse.decode(message);
  expect(taskToken.length).toBeGreaterThan(TOKEN_HEAD_BYTES);
  return taskToken;
}

/** One order after the other, until it stops. @throws when one failed */
function giveOrders() {
  let done = 0;
  let isOver = false;
  const giving = (async () => {
    for (let index = 0; !isOver; index += 1) {
      const text = `order ${index}`;
      const handle = await client.activity.start<string>('work', {
        id: `order-${index}`,
        taskQueue: hostQueue(VICTIM),
        args: [text],
        startToCloseTimeout: '60s',
        retry: { maximumAttempts: 1 },
      });
      expect(await handle.result()).toBe(text);
      done += 1;
    }
  })();
  return {
    done: () => done,
    stop: async () => {
      isOver = true;
      await giving;
    },
  };
}

/** At least one more order is carried out. */
async function victimGoesOn(): Promise<void> {
  const before = orders.done();
  await eventually(async () => expect(orders.done()).toBeGreaterThan(before + 1));
}

describe('a stolen machine', () => {
  it('calls nothing that is of use to it', async () => {
    const calls = [...describedCalls(aim), ...oddCalls(aim)];

    const passed = await passingCalls(calls, () => openSession(gateway.url, thief));

    count.tried += calls.length;
    count.refused += calls.length - passed.length;
    expect(passed).toEqual([]);
    expect(
      calls.filter(({ body }) => Buffer.from(body).includes(RUNNING[0] ?? '')).length,
    ).toBeGreaterThan(20);
    // All calls that Temporal describes were tried, but the one that a worker may make.
    const names = new Set(calls.map(({ name }) => `.${name}`));
    expect(describedNames().filter((name) => !names.has(name))).toEqual([
      '.temporal.api.workflowservice.v1.WorkflowService.GetSystemInfo',
    ]);
    expect(describedNames().length).toBeGreaterThan(200);
    // Nothing has reached Temporal but what the worker of the victim asks for.
    expect(OF_A_WORKER).toEqual(expect.arrayContaining([...(await gateway.calls())]));
    await victimGoesOn();
  });

  it('is counted, and named in the log, but not for each call', async () => {
    const refused = await gateway.metric(
      'slipway_server_gateway_refused_total{reason="unknown-call"}',
    );
    const lines = gateway.log.filter(({ msg }) => msg === 'call of a host refused');

    expect(refused).toBeGreaterThan(200);
    expect(lines.every(({ node }) => node === THIEF)).toBe(true);
    expect(lines.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['unknown-call', 'other-queue', 'other-task', 'malformed']),
    );
    expect(lines.length).toBeLessThan(20);
  });

  it('cannot end the task of the victim, nor what runs elsewhere', async () => {
    const { namespace, tokens } = aim;
    const [taskToken = new Uint8Array()] = tokens;
    const heartbeat = RecordActivityTaskHeartbeatRequest.encode({ namespace, taskToken }).finish();
    const own = await openSession(gateway.url, victim);

    const answer = await call(own, `${SERVICE}/RecordActivityTaskHeartbeat`, framed(heartbeat));

    own.close();
    // To the victim, the token is of use.
    expect(answer).toMatchObject({ http: 200, code: 0 });
    for (const id of ['stolen', 'own']) {
      expect((await client.activity.getHandle(id).describe()).status).toBe('RUNNING');
    }
    for (const id of RUNNING) {
      expect((await client.workflow.getHandle(id).describe()).status.name).toBe('RUNNING');
    }
  });

  it.each([
    ['a person', { commonName: 'admin', organizations: ['system:masters'] }],
    ['a kubelet without its group', { commonName: 'system:node:victim' }],
    ['nobody', { commonName: 'system:node:', organizations: ['system:nodes'] }],
  ])('cannot come as %s', async (_who, subject) => {
    const other = await openSession(gateway.url, await fixture.filesOf(subject));

    const answer = await call(other, `${SERVICE}/GetSystemInfo`, framed(new Uint8Array()));

    expect(answer).toMatchObject({
      code: 16,
      text: expect.stringContaining('not that of a node') as string,
    });
    other.close();
  });

  it.each(Object.keys(STRANGE_BYTES))('harms nobody with %s', async (name) => {
    const socket = await openTls(gateway.url, thief);
    const ended = once(socket, 'close');
    socket.write(STRANGE_BYTES[name] ?? '');
    // It is closed by the server, or when the bytes are over.
    socket.end();

    await ended;
    await victimGoesOn();
  });

  it('harms nobody with many connections, and keeps only a few', async () => {
    const sockets = await Promise.all(
      Array.from({ length: 300 }, () => openTls(gateway.url, thief)),
    );

    await eventually(async () => {
      expect(sockets.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(4);
    });
    await victimGoesOn();
    for (const socket of sockets) socket.destroy();
  });

  it('harms nobody with messages that never end, and with answers that it does not take', async () => {
    const held = await openSession(gateway.url, thief);
    const paths = ['PollActivityTaskQueue', 'RespondActivityTaskCompleted', 'GetSystemInfo'];
    const open = Array.from({ length: 15 }, (_none, index) => {
      const stream = held.request({
        ':method': 'POST',
        ':path': `${SERVICE}/${paths[index % 3]}`,
        'content-type': 'application/grpc',
      });
      stream.on('error', () => undefined);
      stream.write(Buffer.of(0));
      return stream;
    });

    await victimGoesOn();

    expect(open.filter(({ closed }) => !closed).length).toBeGreaterThan(0);
    held.destroy();
  });
});

describe('a stolen machine, at the server', () => {
  /** A host may ask for little in a minute, so they take turns. */
  const THIEVES = Array.from({ length: 8 }, (_none, index) => `thief-${index}`);
  const OF_OTHERS = [
    'rendered-victim-1',
    'rendered-thieves-0',
    'rendered-nobody-1',
    'victim',
    '..%2f..%2fmetrics',
    '%00',
    `a${'b'.repeat(300)}`,
  ];
  /** For pods: they take no certificate, and say no config and no secret. */
  const OPEN = ['/healthz', '/readyz', '/metrics'].flatMap((url) => [`GET ${url}`, `HEAD ${url}`]);

  const watched = watchRoutes();
  let directory: string;
  let endpoint: EndpointFixture;
  let tried: readonly ServedRoute[];
  let thieves: readonly ClientFiles[];
  let turn = 0;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'slipway-hostile-'));
    await writeFile(join(directory, '20260101T000000Z'), randomBytes(32));
    endpoint = await startEndpoint(THIEVES, {
      ...{ payloadKeys: directory, codecPort: 0, codecOrigin: 'https://temporal.example.com' },
    });
    thieves = await Promise.all(THIEVES.map((name) => endpoint.credentialsOf(name)));
    await endpoint.addConfig('rendered-thieves-0', 'worker', { kernelArguments: ['zero'] });
    await endpoint.addConfig('rendered-thieves-1', 'worker', { kernelArguments: ['one'] });
    await endpoint.addConfig('rendered-victim-1', 'master', { kernelArguments: ['SECRET'] });
    await endpoint.setTarget('worker', 'rendered-thieves-1');
    await endpoint.setTarget('master', 'rendered-victim-1');
    tried = watched.routes().filter(({ url, method }) => !OPEN.includes(`${method} ${url}`));
  });

  afterAll(async () => {
    watched.stop();
    await endpoint?.stop();
    await rm(directory, { recursive: true });
  });

  const urls = () => [...new Set(tried.map(({ url }) => url))];
  const caFile = () => endpoint.serverFiles.caFile;

  function nextThief(): ClientFiles {
    turn += 1;
    const next = thieves[turn % thieves.length];
    if (next === undefined) throw new Error('there is no thief');
    return next;
  }

  async function isServed(): Promise<void> {
    const own = await endpoint.clientOf('master-0');
    expect((await own.fetch('rendered-victim-1')).toString()).toContain('SECRET');
  }

  /** @returns what was not refused */
  function tell(what: string, answer: RouteAnswer, as: ClientFiles | undefined): readonly string[] {
    const { status, text } = answer;
    count.tried += 1;
    if (isRefusal(answer, as) && !text.includes('SECRET')) count.refused += 1;
    else return [`${what}: ${status} ${text.slice(0, 200)}`];
    return [];
  }

  it('finds every route of the server', () => {
    expect(urls().sort()).toEqual(
      expect.arrayContaining([
        ...['/*', '/decode', '/host/bundle', '/host/configs/:name'],
        ...['/host/pinned-images', '/host/report'],
      ]),
    );
    expect(tried.length).toBeGreaterThan(100);
  });

  it('gets its own config, and those of nobody else', async () => {
    const own = await endpoint.clientOf(THIEVES[0] ?? '');
    expect((await own.fetch('rendered-thieves-1')).toString()).toContain('one');

    const passed: string[] = [];
    for (const route of tried) {
      for (const request of hostileRequests(route, OF_OTHERS)) {
        const as = nextThief();
        const answer = await askRoute(route, request, { caFile: caFile(), as });
        passed.push(...tell(`${route.method} ${request.path}`, answer, as));
      }
    }

    expect(passed).toEqual([]);
    await isServed();
  });

  it('gets nothing without a certificate', async () => {
    const passed: string[] = [];
    for (const route of tried) {
      const [request] = hostileRequests(route, ['rendered-thieves-1']);
      if (request === undefined) throw new Error('nothing was asked');
      const answer = await askRoute(route, request, { caFile: caFile(), as: undefined });
      const what = `${route.method} ${request.path} without a certificate`;
      passed.push(...tell(what, answer, undefined));
    }

    expect(passed).toEqual([]);
    await isServed();
  });

  it('holds nobody up with bodies that do not come', async () => {
    const writing = tried.filter(
      ({ method, url }) => ['PUT', 'POST'].includes(method) && url.startsWith('/host/'),
    );
    const slow = [];
    for (const route of writing) {
      const opening = Array.from({ length: 5 }, () => sendSlowly(route, nextThief()));
      slow.push(...(await Promise.all(opening)));
    }

    await isServed();

    // Where the body counts, there is no answer yet: nothing was tried.
    const answers = slow.map(({ answer }) => answer()).filter((text) => text !== '');
    const passed = answers.flatMap((text) => {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
      return tell('a slow body', { status, text }, thieves[0]);
    });
    expect(passed).toEqual([]);
    for (const { end } of slow) end();
  });

  it('writes nothing about anybody', async () => {
    const { items } = await endpoint.kube.admin.list(MACHINE_CONFIG_NODES);
    expect(items).toEqual([]);
    expect(count.refused).toBe(count.tried);
    await victimGoesOn();
  });
});
