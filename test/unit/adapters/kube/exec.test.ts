/** What a kubelet answers, spoken by a server in this process. The real path is in test/integration/cli/debug.test.ts. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Writable } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { KubeClient } from '../../../../adapters/kube/client';
import { execInPod, type ExecOptions } from '../../../../adapters/kube/exec';
import { type Log, Transport } from '../../../../adapters/kube/transport';

const nothing = (): void => undefined;
const LOG: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

let server: Server;
let client: KubeClient;
let asked: URL | undefined;
/** Of the command. */
let play: (socket: WebSocket) => void;

beforeEach(async () => {
  server = createServer();
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket, { url = '' }) => {
    asked = new URL(url, 'http://test');
    play(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

afterEach(async () => {
  client.close();
  await new Promise((resolve) => server.close(resolve));
});

function clientOf(url: string): KubeClient {
  const read = () => Promise.resolve({ tls: {}, headers: { authorization: 'Bearer abc' } });
  const limits = { userAgent: 'test', maxRequests: 4, timeoutMs: 5_000, silenceMs: 5_000 };
  return new KubeClient(new Transport({ server: url, read }, { ...limits, log: LOG }), LOG);
}

const frame = (channel: number, text: string): Buffer =>
  Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
const SUCCESS = frame(3, '{"status":"Success"}');
const failure = (fields: object) => frame(3, JSON.stringify({ status: 'Failure', ...fields }));

async function execute(options: Partial<ExecOptions> = {}) {
  const [output, errors] = [new PassThrough(), new PassThrough()];
  const code = await execInPod(client, {
    ...{ namespace: 'slipway', pod: 'debug', container: 'main', command: ['ls', '-l'] },
    ...{ output, errors, signal: new AbortController().signal, ...options },
  });
  const read = (stream: PassThrough) => (stream.read() as Buffer | null)?.toString() ?? '';
  return { code, out: read(output), err: read(errors) };
}

it('sends the command, and parts output from errors', async () => {
  play = (socket) => {
    for (const message of [frame(1, 'a'), frame(2, 'e'), frame(1, 'b'), SUCCESS]) {
      socket.send(message);
    }
  };

  expect(await execute()).toEqual({ code: 0, out: 'ab', err: 'e' });
  expect(asked?.pathname).toBe('/api/v1/namespaces/slipway/pods/debug/exec');
  expect(asked?.searchParams.getAll('command')).toEqual(['ls', '-l']);
  expect(Object.fromEntries(asked?.searchParams ?? [])).toMatchObject({
    ...{ container: 'main', stdin: 'false', stdout: 'true', stderr: 'true', tty: 'false' },
  });
});

it('returns the exit code of the command', async () => {
  const details = { causes: [{ reason: 'ExitCode', message: '3' }] };
  play = (socket) => socket.send(failure({ reason: 'NonZeroExitCode', details }));

  expect(await execute()).toMatchObject({ code: 3 });
});

it('says why a command could not run', async () => {
  play = (socket) => socket.send(failure({ message: 'no such container', code: 400 }));

  await expect(execute()).rejects.toMatchObject({
    name: 'ApiRefused',
    message: 'exec in Pod slipway/debug: no such container',
  });
});

it('says that a connection broke', async () => {
  play = (socket) => socket.close();

  await expect(execute()).rejects.toMatchObject({ name: 'ApiUnavailable' });
});

it('says what the API server refuses', async () => {
  const body = JSON.stringify({ code: 403, message: 'pods "debug" is forbidden' });
  server.removeAllListeners('upgrade');
  server.on('upgrade', (_request, socket) => {
    const head = `HTTP/1.1 403 Forbidden\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.end(`${head}${body}`);
  });

  await expect(execute()).rejects.toMatchObject({
    name: 'ApiForbidden',
    message: 'exec in Pod slipway/debug: pods "debug" is forbidden',
  });
});

it('sends its input, the end of it, and the size of the terminal', async () => {
  const got: string[] = [];
  play = (socket) =>
    socket.on('message', (data: Buffer) => {
      got.push(`${data[0]} ${data.subarray(1).toString()}`);
      if (data[0] === 255) socket.send(SUCCESS);
    });
  const input = new PassThrough();
  const sizes = [
    { columns: 80, rows: 24 },
    { columns: 120, rows: 40 },
  ];
  const terminal = {
    size: () => sizes.shift() ?? { columns: 0, rows: 0 },
    onResize: (listener: () => void) => {
      listener();
      return nothing;
    },
  };
  input.end('ls\n');
  await execute({ input, terminal });

  expect([...got].sort()).toEqual(
    ['0 ls\n', '255 \u0000', '4 {"Width":120,"Height":40}', '4 {"Width":80,"Height":24}'].sort(),
  );
});

it('waits for a slow reader', async () => {
  const pieces = 200;
  play = (socket) => {
    for (let index = 0; index < pieces; index++) socket.send(frame(1, 'x'.repeat(10_000)));
    socket.send(SUCCESS);
  };
  let bytes = 0;
  let most = 0;
  const output = new Writable({
    highWaterMark: 20_000,
    write: (chunk: Buffer, _encoding, done) => {
      most = Math.max(most, output.writableLength);
      setImmediate(() => {
        bytes += chunk.length;
        done();
      });
    },
  });
  await execute({ output });

  expect(bytes + output.writableLength).toBe(pieces * 10_000);
  expect(most).toBeLessThan(200_000);
});

it('ends with its signal', async () => {
  const stop = new AbortController();
  play = () => stop.abort(new Error('enough'));

  await expect(execute({ signal: stop.signal })).rejects.toMatchObject({ name: 'ApiUnavailable' });
});
