/** Real workers of the SDK, at a Temporal of functions. */

import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { IllegalStateError } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createLogger } from '../../../../process/logging';
import { endWhenRefused } from '../../../../process/temporal/refused-polls';
import { installTemporalRuntime } from '../../../../process/temporal/runtime';
import { answerMessage, answerStatus } from '../../../../server/gateway/messages';

const v1 = temporal.api.workflowservice.v1;

/** In these words, the SDK takes a poll as refused for good at once. */
const REFUSED = { code: 8, text: 'grpc: received message larger than max' };
/** No workflow. A bundle has to have a source map. */
const MAP = Buffer.from(JSON.stringify({ version: 3, file: 'a.js', sources: [], mappings: '' }));
const WORKFLOWS = `\n//# sourceMappingURL=data:application/json;base64,${MAP.toString('base64')}`;

let server: Http2Server;
let refusedCall = '';
const open: ServerHttp2Stream[] = [];

beforeEach(async () => {
  server = createServer();
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    stream.resume().once('end', () => answer(stream, String(headers[':path'])));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const stream of open.splice(0)) stream.destroy();
  const closed = once(server, 'close');
  server.close();
  await closed;
});

function answer(stream: ServerHttp2Stream, path: string): void {
  const call = path.split('/').at(-1);
  if (call === refusedCall) {
    refusedCall = '';
    answerStatus(stream, REFUSED.code, REFUSED.text);
  } else if (call?.startsWith('Poll') === true) open.push(stream);
  else if (call === 'DescribeNamespace') {
    const namespaceInfo = { name: 'slipway' };
    answerMessage(stream, v1.DescribeNamespaceResponse.encode({ namespaceInfo }).finish());
  } else answerMessage(stream, new Uint8Array());
}

async function connect(): Promise<NativeConnection> {
  installTemporalRuntime(createLogger({ process: 'test', level: 'silent' }));
  const { port } = server.address() as AddressInfo;
  return NativeConnection.connect({ address: `127.0.0.1:${port}` });
}

function create(connection: NativeConnection): Promise<Worker> {
  return Worker.create({
    ...{ connection, namespace: 'slipway', taskQueue: 'a' },
    ...{ workflowBundle: { code: WORKFLOWS }, reuseV8Context: false },
    activities: { act: async () => undefined },
  });
}

test.each(['PollActivityTaskQueue', 'PollWorkflowTaskQueue'])(
  'a worker whose %s was refused for good ends, and another can take its place',
  async (call) => {
    const connection = await connect();
    refusedCall = call;

    const worker = await create(connection);
    const refusals: unknown[] = [];
    const throwIfRefused = endWhenRefused(worker, (reason) => {
      refusals.push(reason);
      worker.shutdown();
    });
    await worker.run();
    expect(throwIfRefused).toThrow(REFUSED.text);
    const other = await create(connection);
    await other.runUntil(Promise.resolve());
    await connection.close();

    expect(refusals).toEqual([expect.objectContaining({ message: REFUSED.text })]);
  },
);

// As after a shutdown that was forced: each further poll fails at once.
test('a worker that is gone is polled no more', async () => {
  const answers = [Promise.reject(new IllegalStateError('closed')), Promise.resolve(Buffer.of())];
  const nativeWorker = { pollActivityTask: () => answers.shift() };
  const refused = jest.fn();
  endWhenRefused({ nativeWorker } as unknown as Worker, refused);

  await expect(nativeWorker.pollActivityTask()).rejects.toThrow('closed');

  expect(refused).not.toHaveBeenCalled();
});
