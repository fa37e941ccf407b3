import { once } from 'node:events';
import { constants, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';
import { temporal } from '@temporalio/proto';
import {
  call,
  framed,
  openSession,
  type CallAnswer,
} from '../../../integration/server/grpc-client';
import { openTls } from '../../../integration/server/hostile-connections';
import { gatewayHere, NAMESPACE, type FakeService, type GatewayHere } from './gateway-here';

const v1 = temporal.api.workflowservice.v1;
const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService';
const NOTHING = new Uint8Array();

let here: GatewayHere | undefined;

afterEach(async () => {
  await here?.stop();
  here = undefined;
});

async function aHost(service: FakeService, times: Parameters<typeof gatewayHere>[1] = {}) {
  here = await gatewayHere(service, times);
  const session = await openSession(here.url, await here.filesOf('worker-1'));
  return { here, session };
}

const pollBytes = (queue: string, more: object = {}): Buffer =>
  framed(
    v1.PollActivityTaskQueueRequest.encode({
      namespace: NAMESPACE,
      taskQueue: { name: queue },
      ...more,
    }).finish(),
  );

function poll(
  session: ClientHttp2Session,
  more: object = {},
  headers: OutgoingHttpHeaders = {},
): Promise<CallAnswer> {
  const bytes = pollBytes('host/worker-1', more);
  return call(session, `${SERVICE}/PollActivityTaskQueue`, bytes, headers);
}

const TASK = {
  taskToken: Buffer.from('token of Temporal'),
  workflowNamespace: NAMESPACE,
  workflowExecution: { workflowId: 'update-node/worker-1', runId: 'run' },
  activityType: { name: 'applyUpdate' },
  activityId: '7',
  attempt: 2,
  header: { fields: { trace: { data: Buffer.from('x') } } },
  input: { payloads: [{ data: Buffer.from('order') }] },
  retryPolicy: { maximumAttempts: 3 },
  priority: { priorityKey: 1 },
};

describe('a poll', () => {
  it('goes to Temporal with the name of the host, and brings what a host needs', async () => {
    const asked: object[] = [];
    const { session } = await aHost({
      async pollActivityTaskQueue(request) {
        asked.push(request);
        return TASK;
      },
    });

    const answer = await poll(session, {
      identity: 'somebody else',
      workerInstanceKey: 'instance',
      taskQueueMetadata: { maxTasksPerSecond: { value: 0 } },
      deploymentOptions: { deploymentName: 'x', buildId: 'y' },
    });

    expect(asked).toEqual([
      {
        namespace: NAMESPACE,
        taskQueue: { name: 'host/worker-1', kind: 1 },
        identity: 'slipway-host@worker-1',
        workerInstanceKey: 'worker-1/instance',
      },
    ]);
    const { taskToken, ...task } = v1.PollActivityTaskQueueResponse.decode(answer.message);
    expect(Buffer.from(taskToken).subarray(33)).toEqual(TASK.taskToken);
    expect(task).toMatchObject({
      workflowExecution: TASK.workflowExecution,
      activityType: { name: 'applyUpdate' },
      activityId: '7',
      attempt: 2,
      input: { payloads: [{ data: Buffer.from('order') }] },
    });
    expect(Object.keys(task)).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/header|retryPolicy|priority/)]),
    );
  });

  it.each([
    ['SIMULATED-host@worker-2', 'SIMULATED-host@worker-1'],
    ['somebody else', 'slipway-host@worker-1'],
  ])('of %s and its answer are those of %s', async (identity, told) => {
    const asked: object[] = [];
    const { session } = await aHost({
      async pollActivityTaskQueue(request) {
        asked.push(request);
        return TASK;
      },
      async respondActivityTaskCompleted(request) {
        asked.push(request);
        return {};
      },
    });
    const { message } = await poll(session, { identity });
    const { taskToken } = v1.PollActivityTaskQueueResponse.decode(message);
    const completed = { namespace: NAMESPACE, taskToken, identity };

    await call(
      session,
      `${SERVICE}/RespondActivityTaskCompleted`,
      framed(v1.RespondActivityTaskCompletedRequest.encode(completed).finish()),
    );

    const ofHost = expect.objectContaining({ identity: told }) as object;
    expect(asked).toEqual([ofHost, ofHost]);
  });

  it.each([17, 100_000])('takes no answer of %i payloads', async (count) => {
    const asked: object[] = [];
    const { session } = await aHost({
      pollActivityTaskQueue: () => Promise.resolve(TASK),
      async respondActivityTaskCompleted(request) {
        asked.push(request);
        return {};
      },
    });
    const { taskToken } = v1.PollActivityTaskQueueResponse.decode((await poll(session)).message);
    const answered = (payloads: object[]) =>
      call(
        session,
        `${SERVICE}/RespondActivityTaskCompleted`,
        framed(
          v1.RespondActivityTaskCompletedRequest.encode({
            ...{ namespace: NAMESPACE, taskToken, result: { payloads } },
          }).finish(),
        ),
      );

    expect((await answered(Array.from({ length: count }, () => ({})))).code).toBe(3);
    expect(asked).toEqual([]);
    expect((await answered([{}])).code).toBe(0);
  });

  it('ends with no order when its time is over, and while Temporal is away it waits', async () => {
    const errors = [14, 13, 1, 4];
    const { session } = await aHost({
      pollActivityTaskQueue: () =>
        Promise.reject(Object.assign(new Error('away'), { code: errors.shift() })),
    });

    const answer = await poll(session);

    expect(answer).toMatchObject({ code: 0, message: Buffer.alloc(0) });
    expect(errors).toEqual([]);
  });

  // Temporal refuses a poll of less than two seconds, and a refusal ends the worker of the host.
  it('ends with no order when the rest of its time is too short for Temporal', async () => {
    const codes = [14, 9];
    const { session } = await aHost({
      pollActivityTaskQueue: () =>
        Promise.reject(Object.assign(new Error('away'), { code: codes.shift() })),
    });

    const answer = await poll(session, {}, { 'grpc-timeout': '9S' });

    expect(answer).toMatchObject({ code: 0, message: Buffer.alloc(0) });
    expect(codes).toEqual([9]);
  });

  it('is given up when the host has gone', async () => {
    let given = (): void => undefined;
    const isGivenUp = new Promise<void>((resolve) => {
      given = resolve;
    });
    const { session } = await aHost({
      pollActivityTaskQueue: (_request, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            given();
            reject(Object.assign(new Error('cancelled'), { code: 1 }));
          }),
        ),
    });

    const answer = poll(session);
    setImmediate(() => session.destroy());

    await isGivenUp;
    expect((await answer).code).toBeUndefined();
  });
});

describe('a gateway that ends', () => {
  it('ends polls without an order, and lets an answer of a host pass', async () => {
    const asked: string[] = [];
    let end = (): void => undefined;
    const isEnding = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { here, session } = await aHost({
      async pollActivityTaskQueue(_request, signal) {
        asked.push('poll');
        if (asked.length === 1) return TASK;
        await once(signal, 'abort');
        throw Object.assign(new Error('cancelled'), { code: 1 });
      },
      async respondActivityTaskCompleted(request) {
        asked.push(JSON.stringify(request));
        await isEnding;
        return {};
      },
    });
    const { taskToken } = v1.PollActivityTaskQueueResponse.decode((await poll(session)).message);
    const completed = v1.RespondActivityTaskCompletedRequest.encode({
      namespace: NAMESPACE,
      taskToken,
    }).finish();

    const held = poll(session);
    const completing = call(session, `${SERVICE}/RespondActivityTaskCompleted`, framed(completed));
    await until(() => asked.length === 3);
    const closing = here.gateway.close();

    expect(await held).toMatchObject({ code: 0, message: Buffer.alloc(0) });
    end();
    expect((await completing).code).toBe(0);
    await closing;
    expect(JSON.parse(asked[2] ?? '') as object).toMatchObject({
      identity: 'slipway-host@worker-1',
    });
  });

  it('asks Temporal for no order when a poll was half sent', async () => {
    let asked = 0;
    const { here, session } = await aHost({
      async pollActivityTaskQueue() {
        asked += 1;
        return TASK;
      },
    });
    const arrived = once(here.gateway.server, 'stream');
    let send = (_bytes: Buffer): void => undefined;
    const body = new Promise<Buffer>((resolve) => {
      send = resolve;
    });
    const polled = call(session, `${SERVICE}/PollActivityTaskQueue`, body);
    await arrived;

    const closing = here.gateway.close();
    send(pollBytes('host/worker-1'));

    expect(await polled).toMatchObject({ code: 0, message: Buffer.alloc(0) });
    expect(asked).toBe(0);
    await closing;
  });

  it('keeps no connection that was still being made', async () => {
    const { here } = await aHost({});
    const files = await here.filesOf('worker-2');
    const arrived = once(here.gateway.server, 'connection');
    const opening = openSession(here.url, files);
    await arrived;

    await here.gateway.close();

    expect((await opening).closed).toBe(true);
  });
});

describe('a call that is not one whole message', () => {
  it.each([
    ['nothing', NOTHING],
    ['half a prefix', Buffer.of(0, 0)],
    ['a message that is cut off', pollBytes('host/worker-1').subarray(0, -1)],
    ['two messages', Buffer.concat([framed(NOTHING), framed(NOTHING)])],
  ])('(%s) is refused, which is no failure of the gateway', async (_what, body) => {
    const { session } = await aHost({});

    const answer = await call(session, `${SERVICE}/PollActivityTaskQueue`, body);

    expect(answer).toMatchObject({ code: 3, text: 'expected one whole message' });
  });
});

describe('an answer of Temporal', () => {
  it.each([
    [5, 'workflow execution already completed', 5, 'workflow execution already completed'],
    [7, 'Request unauthorized.', 14, 'Request unauthorized.'],
    [16, 'the certificate of the gateway', 14, 'the certificate of the gateway'],
    [14, 'no connection', 14, 'no connection'],
  ])('with status %i (%s) gives the host %i', async (code, details, given, text) => {
    const { session } = await aHost({
      getSystemInfo: () => Promise.reject(Object.assign(new Error('x'), { code, details })),
    });

    const answer = await call(session, `${SERVICE}/GetSystemInfo`, framed(NOTHING));

    expect(answer).toMatchObject({ code: given, text });
  });

  it('that is a bug is told in the log, not to the host', async () => {
    const { here, session } = await aHost({
      getSystemInfo: () => Promise.reject(new Error('a secret of the server')),
    });

    const answer = await call(session, `${SERVICE}/GetSystemInfo`, framed(NOTHING));

    expect(answer).toMatchObject({
      code: 13,
      text: expect.not.stringContaining('secret') as string,
    });
    expect(here.log).toEqual([expect.objectContaining({ msg: 'gateway failed' })]);
  });
});

describe('a host that takes too much', () => {
  it('loses its oldest connection to a new one', async () => {
    const { here, session } = await aHost({});
    const files = await here.filesOf('worker-1');
    const gone = once(session, 'close');

    const others = [];
    for (let index = 0; index < 4; index += 1) others.push(await openSession(here.url, files));

    await gone;
    expect(others.map(({ closed }) => closed)).toEqual([false, false, false, false]);
    for (const other of others) other.destroy();
  });

  it('waits for its turn', async () => {
    const { here, session } = await aHost({ getSystemInfo: async () => ({}) });
    const codes = new Set<number | undefined>();
    for (let round = 0; round < 35; round += 1) {
      const calls = Array.from({ length: 10 }, () =>
        call(session, `${SERVICE}/GetSystemInfo`, framed(NOTHING)),
      );
      for (const { code } of await Promise.all(calls)) codes.add(code);
    }

    expect([...codes]).toEqual([0, 8]);
    expect(here.log).toEqual([
      expect.objectContaining({ node: 'worker-1', reason: 'too-many-calls' }),
    ]);
  });

  it('does not hold a place with half a message', async () => {
    const { session } = await aHost({}, { message: 50 });
    const stream = session.request({
      ':method': 'POST',
      ':path': `${SERVICE}/GetSystemInfo`,
      'content-type': 'application/grpc',
    });
    stream.write(Buffer.of(0));

    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];

    expect(headers['grpc-status']).toBe('4');
    await once(stream.resume(), 'close');
  });

  it('is cut off when it does not answer pings', async () => {
    const { here } = await aHost({}, { ping: 40 });
    const socket = await openTls(here.url, await here.filesOf('worker-2'));
    const closed = once(socket, 'close');
    // Preface and settings; no answer to anything.
    socket.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0', 'latin1'));

    await closed;
  });

  it('has to come again after a while', async () => {
    const { session } = await aHost({}, { age: 50 });

    const [code] = (await once(session, 'goaway')) as [number];

    expect(code).toBe(constants.NGHTTP2_NO_ERROR);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}
