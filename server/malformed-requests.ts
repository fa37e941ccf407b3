/**
 * Requests that Node would not hand on, or would take where Go's HTTP server does not, and clients that
 * have said all that they will say. Each endpoint has its own words for a refusal.
 *
 * @see Go net/http/server.go (go1.24), readRequest and serve
 */

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Duplex } from 'node:stream';

/** The part of a socket that is answered on. */
type AnsweredSocket = Pick<Duplex, 'writable' | 'writableEnded' | 'destroy'> & {
  end(text: string): void;
  once(event: 'end' | 'close', listener: () => void): void;
};

/** What is refused before there is a request that a route could refuse. */
export type RefusalStatus = 400 | 405 | 408 | 417 | 431;

/** What comes after the status line of a refusal. */
export interface Wording {
  /** Without those that every refusal has. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers those who close their side early. */
export function waitForEarlyEnds(server: Pick<HttpsServer, 'on'>): void {
  // Not in the types; without it, Node ends such a connection before there is an answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  // After the handshake only: who leaves in the middle of it must not be waited for.
  server.on('secureConnection', (socket: Duplex) => {
    socket.allowHalfOpen = true;
  });
}

/** Answers CONNECT as every other method, and what cannot be expected. */
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

/** The parts of a request that are looked at before anything is answered. */
type Head = Pick<IncomingMessage, 'httpVersionMajor' | 'httpVersionMinor' | 'rawHeaders'>;

/** The status for a request that is refused whatever it asks for; undefined = it is not. */
export function refusalOf(request: Head): 400 | 505 | undefined {
  const { httpVersionMajor: major, httpVersionMinor: minor } = request;
  if (major !== 1) return 505;
  const hosts = valuesOf(request, 'host').length;
  const isNamed = hosts === 1 || (hosts === 0 && minor === 0);
  return isNamed ? undefined : 400;
}

/** The first of several headers of a name, which is the one that Go's handlers see; Node joins all. */
export function firstHeader(request: Pick<Head, 'rawHeaders'>, name: string): string | undefined {
  return valuesOf(request, name)[0];
}

/** @param name - in lower case */
function valuesOf({ rawHeaders }: Pick<Head, 'rawHeaders'>, name: string): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/** What is answered; anything else is a broken connection. The first that fits counts. */
const UNREADABLE = [
  { code: 'ERR_HTTP_REQUEST_TIMEOUT', status: 408 },
  { code: 'HPE_HEADER_OVERFLOW', status: 431 },
  { code: 'HPE_', status: 400 },
] as const;

/** A request line with any word for a method: the parser knows some only, and MCO's server takes all. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r\n/;

type ReadError = NodeJS.ErrnoException & { readonly rawPacket?: unknown };

/** Handles requests that are none: broken, too long, or not complete in time. */
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
  // Without a handshake there is nothing to write to, and waiting for it would never end.
  if (found === undefined || !(socket.writable || socket.writableEnded)) {
    socket.destroy();
    return;
  }
  // It has its answer; this is the rest of what it said before it read that.
  if (socket.writableEnded) return;
  const { code, rawPacket } = error;
  const isMethod =
    code === 'HPE_INVALID_METHOD' &&
    Buffer.isBuffer(rawPacket) &&
    REQUEST_LINE.test(rawPacket.toString('latin1'));
  const status = isMethod ? 405 : found;
  answerAndClose(socket, status, wordingOf(status));
}

/** As long as Go's server waits (its `rstAvoidanceDelay`). */
const LAST_WORDS_MS = 500;

/** Takes in what is still under way: closing before that resets the connection, and the answer is lost. */
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
