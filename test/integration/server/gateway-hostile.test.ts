/**
 * A client with the valid certificate of another host tries all that there is to call, while a host
 * goes on with its orders.
 */

import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { hostQueue } from '../../../core/names';
import { createLogger } from '../../../process/logging';
import { installTemporalRuntime } from '../../../process/temporal/runtime';
import { temporalClient } from '../../../tools/temporal';
import { eventually } from '../kube/fixture';
import {
  startGatewayFixture,
  startWorker,
  type GatewayFixture,
  type RunningGateway,
} from './gateway-fixture';
import { call, framed, openSession, type CallAnswer, type ClientFiles } from './grpc-client';
import {
  describedCalls,
  describedNames,
  oddCalls,
  type Aim,
  type HostileCall,
} from './hostile-calls';
import { openTls, STRANGE_BYTES } from './hostile-connections';

jest.setTimeout(300_000);

const VICTIM = 'victim';
const THIEF = 'thief';
const { PollActivityTaskQueueRequest, PollActivityTaskQueueResponse } =
  temporal.api.workflowservice.v1;
const OF_A_WORKER = [
  'DescribeNamespace',
  'GetSystemInfo',
  'PollActivityTaskQueue',
  'RecordActivityTaskHeartbeat',
  'RespondActivityTaskCompleted',
];
const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';

let fixture: GatewayFixture;
let gateway: RunningGateway;
let client: Client;
let thief: ClientFiles;
let victim: ClientFiles;
let session: ClientHttp2Session;
let worker: { stop(): Promise<void> };
let orders: { readonly done: () => number; stop(): Promise<void> };
let aim: Aim;

beforeAll(async () => {
  fixture = await startGatewayFixture();
  gateway = await fixture.start();
  client = await temporalClient(fixture.temporal);
  installTemporalRuntime(createLogger({ process: 'test', level: 'silent' }));
  [thief, victim] = await Promise.all([fixture.filesOf(THIEF), fixture.filesOf(VICTIM)]);
  session = await openSession(gateway.url, thief);
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
  session?.close();
  await orders?.stop();
  await worker?.stop();
  await gateway?.stop();
  await client?.connection.close();
  await fixture?.stop();
});

/** The victim polls by itself: its token is known, and Temporal's own token is cut out of it. */
async function takeAim(): Promise<Aim> {
  const { namespace } = fixture.temporal;
  await client.activity.start('stolen', {
    id: 'stolen',
    taskQueue: hostQueue(VICTIM),
    startToCloseTimeout: '10m',
    retry: { maximumAttempts: 1 },
  });
  const own = await openSession(gateway.url, victim);
  const taskQueue = { name: hostQueue(VICTIM) };
  const poll = PollActivityTaskQueueRequest.encode({ namespace, taskQueue }).finish();
  const { message } = await call(own, `${SERVICE}/PollActivityTaskQueue`, framed(poll));
  own.close();
  const { taskToken } = PollActivityTaskQueueResponse.decode(message);
  expect(taskToken.length).toBeGreaterThan(40);
  return { namespace, victim: VICTIM, tokens: [taskToken, taskToken.subarray(33)] };
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

function isRefused({ http, code }: CallAnswer): boolean {
  // A connection that was closed for it, a status of HTTP, or one of gRPC that is no success.
  return http === undefined || http >= 400 || (code !== undefined && code !== 0);
}

/** Those that the gateway did not refuse, or refused as if Temporal had. */
async function tryAll(
  calls: readonly HostileCall[],
  as: ClientFiles,
): Promise<readonly { readonly name: string; readonly answer: CallAnswer }[]> {
  const passed: { name: string; answer: CallAnswer }[] = [];
  let used = session.closed || session.destroyed ? await openSession(gateway.url, as) : session;
  for (const { name, path, body, headers } of calls) {
    if (used.closed || used.destroyed) used = await openSession(gateway.url, as);
    const answer = await call(used, path, body, headers);
    // The limit of calls of one host is not what is tried here.
    if (answer.text.includes('too many calls')) await delay(1_000);
    const last = answer.text.includes('too many calls')
      ? await call(used, path, body, headers)
      : answer;
    if (!isRefused(last)) passed.push({ name, answer: last });
  }
  session = used;
  return passed;
}

describe('a stolen machine', () => {
  it('calls nothing that is of use to it', async () => {
    const calls = [...describedCalls(aim), ...oddCalls(aim)];

    const passed = await tryAll(calls, thief);

    process.stdout.write(`tried ${calls.length}, refused ${calls.length - passed.length}\n`);
    expect(passed).toEqual([]);
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

  it('cannot end the task of the victim', async () => {
    const handle = client.activity.getHandle('stolen');

    expect((await handle.describe()).status).toBe('RUNNING');
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
