/** Calls as a host sends them, and as no host does: any path, any bytes. */

import { readFileSync } from 'node:fs';
import { connect, type ClientHttp2Session, type OutgoingHttpHeaders } from 'node:http2';

export interface CallAnswer {
  /** Of HTTP; undefined = the call broke off. */
  readonly http: number | undefined;
  /** Of gRPC; undefined = there was none. */
  readonly code: number | undefined;
  readonly text: string;
  readonly message: Buffer;
}

export interface ClientFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** Resolves when TLS and HTTP/2 are there. */
export async function openSession(url: string, files: ClientFiles): Promise<ClientHttp2Session> {
  const session = connect(url, {
    cert: readFileSync(files.certFile),
    key: readFileSync(files.keyFile),
    ca: readFileSync(files.caFile),
  });
  await new Promise<void>((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.once('error', reject);
  });
  session.on('error', () => undefined);
  return session;
}

export function framed(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** @param body - with its prefix; the headers go out before it is there */
export function call(
  session: ClientHttp2Session,
  path: string,
  body: Uint8Array | Promise<Uint8Array>,
  headers: OutgoingHttpHeaders = {},
): Promise<CallAnswer> {
  return new Promise((resolve) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const chunks: Buffer[] = [];
    let http: number | undefined;
    let code: number | undefined;
    let text = '';
    const look = (from: Readonly<Record<string, unknown>>): void => {
      if (from['grpc-status'] !== undefined) code = Number(from['grpc-status']);
      const message = from['grpc-message'];
      if (typeof message === 'string') text = decodeURIComponent(message);
    };
    stream.on('response', (from) => {
      http = from[':status'];
      look(from);
    });
    stream.on('trailers', look);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined); // 'close' follows
    stream.on('close', () => {
      resolve({ http, code, text, message: Buffer.concat(chunks).subarray(5) });
    });
    void Promise.resolve(body).then((bytes) => stream.end(bytes));
  });
}
