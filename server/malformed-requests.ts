/**
 * Answers requests that Node does not pass on, or accepts where Go's HTTP server does not, and
 * clients that close their side early. Each endpoint words its refusals.
 *
 * @see Go net/http/server.go (go1.24), readRequest and serve
 */

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Duplex } from 'node:stream';

type AnsweredSocket = Pick<Duplex, 'writable' | 'writableEnded' | 'destroy'> & {
  end(text: string): void;
  once(event: 'end' | 'close', listener: () => void): void;
};

/** Before there is a request for a route. */
export type RefusalStatus = 400 | 405 | 408 | 417 | 431;

export interface Wording {
  /** Beside those of every refusal. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers clients that close their side early. */
export function waitForEarlyEnds(server: Pick<HttpsServer, 'on'>): void {
  // Not in the types. Without it, Node ends such a connection before the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  // The server must not wait for a client that leaves during the handshake.
  server.on('secureConnection', (socket: Duplex) => {
    socket.allowHalfOpen = true;
  });
}

/** Answers CONNECT as every other method, and refuses any Expect but 100-continue. */
export function answerOddRequests(
  server: Pick<HttpsServer, 'on'>,
  wordingOf: (status: RefusalStatus) => Wording,
): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.resume();
    answerAndClose(socket, 405, wordingOf(405));
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const wording = wordingOf(417);
    response.writeHead(417, headersOf(wording)).end(wording.body);
  });
}

type Head = Pick<IncomingMessage, 'httpVersionMajor' | 'httpVersionMinor' | 'rawHeaders'>;

/** The status that refuses a request, whatever its target. */
export function refusalOf(request: Head): 400 | 505 | undefined {
  const { httpVersionMajor: major, httpVersionMinor: minor } = request;
  if (major !== 1) return 505;
  const hosts = valuesOf(request, 'host').length;
  const isNamed = hosts === 1 || (hosts === 0 && minor === 0);
  return isNamed ? undefined : 400;
}

/** As Go's handlers read it; Node joins all. */
export function firstHeader(request: Pick<Head, 'rawHeaders'>, name: string): string | undefined {
  return valuesOf(request, name)[0];
}

/** @param name - in lower case */
function valuesOf({ rawHeaders }: Pick<Head, 'rawHeaders'>, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** Other errors are broken connections. The first match counts. */
const UNREADABLE = [
  { code: 'ERR_HTTP_REQUEST_TIMEOUT', status: 408 },
  { code: 'HPE_HEADER_OVERFLOW', status: 431 },
  { code: 'HPE_', status: 400 },
] as const;

/** Node's parser knows some methods only, and MCO's server takes all. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r\n/;

type ReadError = NodeJS.ErrnoException & { readonly rawPacket?: unknown };

/** Broken, too long and incomplete requests. */
export function refuseUnreadable(
  wordingOf: (status: RefusalStatus) => Wording,
): (error: ReadError, socket: AnsweredSocket) => void {
  return (error, socket) => answerUnreadable(error, socket, wordingOf);
}

function answerUnreadable(
  error: ReadError,
  socket: AnsweredSocket,
  wordingOf: (status: RefusalStatus) => Wording,
): void {
  const found = UNREADABLE.find(({ code }) => error.code?.startsWith(code))?.status;
  // Before the handshake nothing can be written.
  if (found === undefined || !(socket.writable || socket.writableEnded)) {
    socket.destroy();
    return;
  }
  // It has its answer; this is the rest of the request.
  if (socket.writableEnded) return;
  const { code, rawPacket } = error;
  const isMethod =
    code === 'HPE_INVALID_METHOD' &&
    Buffer.isBuffer(rawPacket) &&
    REQUEST_LINE.test(rawPacket.toString('latin1'));
  const status = isMethod ? 405 : found;
  answerAndClose(socket, status, wordingOf(status));
}

/** Go's `rstAvoidanceDelay`. */
const LAST_WORDS_MS = 500;

/** Reads the rest first: closing earlier resets the connection and loses the answer. */
function answerAndClose(socket: AnsweredSocket, status: RefusalStatus, wording: Wording): void {
  const lines = Object.entries(headersOf(wording)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${wording.body}`);
  const overdue = setTimeout(() => void socket.destroy(), LAST_WORDS_MS);
  socket.once('end', () => void socket.destroy());
  socket.once('close', () => clearTimeout(overdue));
}

function headersOf({ headers, body }: Wording): Readonly<Record<string, string>> {
  return { ...headers, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' };
}
