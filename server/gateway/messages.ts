/** Unary calls of gRPC over HTTP/2: one message in, one message or a status out. */

import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { GatewayRefusal, STATUS } from './refusal';

const inflate = promisify(gunzip);

const PREFIX_BYTES = 5;
/** As Temporal, which refuses larger payloads. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;
const GRPC = /^application\/grpc(\+proto)?(;|$)/;
const ENCODINGS = 'identity,gzip';
const MAX_STATUS_TEXT = 1024;

/** Undefined = it is one. */
export function noCall(headers: IncomingHttpHeaders): 405 | 415 | undefined {
  if (headers[':method'] !== 'POST') return 405;
  return GRPC.test(headers['content-type'] ?? '') ? undefined : 415;
}

/**
 * The one message of a call, uncompressed.
 *
 * @param withinMs - for the whole message
 * @throws (rejects) GatewayRefusal; an Error when the stream breaks off
 */
export async function readMessage(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  withinMs: number,
): Promise<Buffer> {
  const body = await readBody(stream, withinMs);
  if (body.length < PREFIX_BYTES || body.length !== PREFIX_BYTES + body.readUInt32BE(1)) {
    throw malformed('expected one whole message');
  }
  const message = body.subarray(PREFIX_BYTES);
  if (body[0] === 0) return message;
  if (body[0] !== 1 || headers['grpc-encoding'] !== 'gzip') {
    throw new GatewayRefusal(STATUS.UNIMPLEMENTED, 'malformed', 'compress with gzip, or not');
  }
  return inflate(message, { maxOutputLength: MAX_MESSAGE_BYTES }).catch((error: unknown) => {
    const isLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw isLong ? tooLarge() : malformed('the message cannot be uncompressed');
  });
}

function readBody(stream: ServerHttp2Stream, withinMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const late = setTimeout(() => {
      end(
        new GatewayRefusal(
          STATUS.DEADLINE_EXCEEDED,
          'too-slow',
          'the message did not come in time',
        ),
      );
    }, withinMs);
    const end = (problem?: Error): void => {
      clearTimeout(late);
      if (problem === undefined) resolve(Buffer.concat(chunks));
      else reject(problem);
    };
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= PREFIX_BYTES + MAX_MESSAGE_BYTES) chunks.push(chunk);
      else end(tooLarge());
    });
    stream.once('end', () => end());
    stream.once('close', () => end(new Error('the call broke off')));
    stream.once('error', (error) => end(error));
  });
}

export function malformed(message: string): GatewayRefusal {
  return new GatewayRefusal(STATUS.INVALID_ARGUMENT, 'malformed', message);
}

function tooLarge(): GatewayRefusal {
  const most = `${MAX_MESSAGE_BYTES / 1024 / 1024} MiB`;
  return new GatewayRefusal(
    STATUS.RESOURCE_EXHAUSTED,
    'too-large',
    `a message has at most ${most}`,
  );
}

export function answerMessage(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed || stream.headersSent) return;
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond(
    { ':status': 200, 'content-type': 'application/grpc+proto' },
    { waitForTrailers: true },
  );
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(STATUS.OK) }));
  stream.end(Buffer.concat([prefix, message]));
}

/** Before the whole message has come, too. */
export function answerStatus(stream: ServerHttp2Stream, code: number, text: string): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-accept-encoding': ENCODINGS,
      'grpc-status': String(code),
      'grpc-message': percentEncoded(text),
    },
    { endStream: true },
  );
}

/** A text of Temporal may be cut in the middle of a character, which cannot be encoded. */
function percentEncoded(text: string): string {
  return encodeURIComponent(Buffer.from(text.slice(0, MAX_STATUS_TEXT)).toString());
}

/** For a client that does not speak gRPC. */
export function answerNoCall(stream: ServerHttp2Stream, status: 405 | 415): void {
  if (stream.destroyed || stream.headersSent) return;
  stream.respond({ ':status': status }, { endStream: true });
}

const TIMEOUT = /^(\d{1,8})([HMSmun])$/;
const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 } as const;

/** How long the client waits, ms: what the header says, and at most `mostMs`. */
export function timeLimit(headers: IncomingHttpHeaders, mostMs: number): number {
  const [, digits, unit] = TIMEOUT.exec(String(headers['grpc-timeout'] ?? '')) ?? [];
  if (digits === undefined) return mostMs;
  return Math.min(mostMs, Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]);
}
