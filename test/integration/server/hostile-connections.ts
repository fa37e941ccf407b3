/** Connections that no host makes: strange bytes, slow ones, and many. */

import { readFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import type { ClientFiles } from './grpc-client';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const SETTINGS = frame(4, 0, 0);

/** Type, flags, stream, payload. */
function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Header fields without an index: 0x00, name, value. */
function headers(fields: Readonly<Record<string, string>>): Buffer {
  const text = (value: string) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]),
  );
}

const REQUEST = headers({
  ':method': 'POST',
  ':scheme': 'https',
  ':path': '/x',
  ':authority': 'gateway',
  'content-type': 'application/grpc',
});
const END_HEADERS = 4;
const RESET = Buffer.of(0, 0, 0, 8);

const times = (count: number, make: (index: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_none, index) => make(index)));

/** What a client sends after TLS. The server has to end each of these connections, or its streams. */
export const STRANGE_BYTES: Readonly<Record<string, Buffer>> = {
  'HTTP/1.1': Buffer.from('GET / HTTP/1.1\r\nHost: gateway\r\n\r\n'),
  noise: Buffer.from(Array.from({ length: 4096 }, (_none, index) => (index * 167) % 256)),
  'a preface and noise': Buffer.concat([PREFACE, Buffer.alloc(4096, 0xab)]),
  'a frame that is too long': Buffer.concat([
    PREFACE,
    SETTINGS,
    frame(0, 0, 1, Buffer.alloc(70_000)),
  ]),
  'data before a request': Buffer.concat([PREFACE, SETTINGS, frame(0, 0, 1, Buffer.from('x'))]),
  'an even stream': Buffer.concat([PREFACE, SETTINGS, frame(1, END_HEADERS, 2, REQUEST)]),
  'settings of the wrong length': Buffer.concat([PREFACE, frame(4, 0, 0, Buffer.alloc(5))]),
  'a window of nothing': Buffer.concat([PREFACE, SETTINGS, frame(8, 0, 0, Buffer.alloc(4))]),
  'a broken header block': Buffer.concat([
    PREFACE,
    SETTINGS,
    frame(1, END_HEADERS, 1, Buffer.alloc(64, 0xff)),
  ]),
  'headers without end': Buffer.concat([
    PREFACE,
    SETTINGS,
    frame(1, 0, 1, REQUEST),
    times(2_000, () => frame(9, 0, 1, headers({ x: 'y'.repeat(100) }))),
  ]),
  'streams that are reset at once': Buffer.concat([
    PREFACE,
    SETTINGS,
    times(20_000, (index) =>
      Buffer.concat([
        frame(1, END_HEADERS, 2 * index + 1, REQUEST),
        frame(3, 0, 2 * index + 1, RESET),
      ]),
    ),
  ]),
  'pings without end': Buffer.concat([
    PREFACE,
    SETTINGS,
    times(50_000, () => frame(6, 0, 0, Buffer.alloc(8))),
  ]),
  'settings without end': Buffer.concat([PREFACE, times(50_000, () => SETTINGS)]),
  'more streams than allowed': Buffer.concat([
    PREFACE,
    SETTINGS,
    times(2_000, (index) => frame(1, END_HEADERS, 2 * index + 1, REQUEST)),
  ]),
};

/** Resolves when TLS is there, or it failed. */
export function openTls(
  url: string,
  { certFile, keyFile, caFile }: ClientFiles,
  more: { readonly protocols?: readonly string[] } = {},
): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      cert: readFileSync(certFile),
      key: readFileSync(keyFile),
      ca: readFileSync(caFile),
      ALPNProtocols: [...(more.protocols ?? ['h2'])],
    });
    socket.on('error', () => resolve(socket));
    socket.on('secureConnect', () => resolve(socket));
    socket.resume();
  });
}
