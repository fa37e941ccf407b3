/** Unary calls of gRPC as the two ends of this benchmark speak them. */

import type { ClientHttp2Session, ServerHttp2Stream } from 'node:http2';

export const POLL = '/temporal.api.workflowservice.v1.WorkflowService/PollActivityTaskQueue';
export const DONE = '/temporal.api.workflowservice.v1.WorkflowService/RespondActivityTaskCompleted';

const PREFIX_BYTES = 5;

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Undefined = it broke off. */
export function ask(
  session: ClientHttp2Session,
  path: string,
  message: Uint8Array,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    let isFine = false;
    stream.on('trailers', (trailers: Readonly<Record<string, unknown>>) => {
      isFine = trailers['grpc-status'] === '0';
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined); // 'close' follows
    stream.on('close', () =>
      resolve(isFine ? Buffer.concat(chunks).subarray(PREFIX_BYTES) : undefined),
    );
    stream.end(framed(message));
  });
}

export function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed) return;
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc+proto' },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(framed(message));
}

export async function messageOf(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).subarray(PREFIX_BYTES);
}
