/** Every route of the server, as Fastify knows it, and what a stolen machine asks of each. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { request as overHttp } from 'node:http';
import { request as overTls } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { openTls } from './hostile-connections';
import type { ClientFiles } from './grpc-client';

export interface ServedRoute {
  /** `https://127.0.0.1:1234` */
  readonly origin: string;
  readonly url: string;
  readonly method: string;
}

interface HostileRequest {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface RouteAnswer {
  /** Undefined = the connection broke off. */
  readonly status: number | undefined;
  /** Of a connection that broke off, why. */
  readonly text: string;
}

/**
 * 409 is for a config that its pool has left. A limit, or a server that fails or does not know the host
 * yet (429, 500, 503), would prove nothing.
 */
const REFUSED: readonly number[] = [400, 401, 403, 404, 405, 409, 413];
/** The server ends TLS without a certificate; its reason, or the end alone, is seen first. */
const CUT = ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'ECONNRESET', 'EPIPE'];

/** @param as - with which certificate it was asked */
export function isRefusal({ status, text }: RouteAnswer, as: ClientFiles | undefined): boolean {
  if (status === undefined) return as === undefined && CUT.includes(text);
  return REFUSED.includes(status);
}

/** Also of routes that come later: each server of this process says it. */
export function watchRoutes() {
  const seen: { readonly app: FastifyInstance; readonly url: string; readonly method: string }[] =
    [];
  const made = (message: unknown): void => {
    const { fastify: app } = message as { readonly fastify: FastifyInstance };
    app.addHook('onRoute', ({ url, method }) => {
      for (const each of [method].flat()) seen.push({ app, url, method: each });
    });
  };
  subscribe('fastify.initialization', made);
  return {
    /** Those that listen. */
    routes(): readonly ServedRoute[] {
      return seen.map(({ app: { server, initialConfig }, url, method }) => {
        const { port } = server.address() as AddressInfo;
        const scheme = initialConfig.https === undefined ? 'http' : 'https';
        return { origin: `${scheme}://127.0.0.1:${port}`, url, method };
      });
    },
    stop: () => unsubscribe('fastify.initialization', made),
  };
}

/** What it must not have, by name: configs of other pools, earlier ones, and hosts. */
export function hostileRequests(
  { url, method }: ServedRoute,
  names: readonly string[],
): readonly HostileRequest[] {
  const all = pathsOf(url, names);
  const paths = method === 'GET' ? all : all.slice(0, 1);
  const claims = paths.map((path) => ({ path, headers: CLAIMS }));
  const [path = url] = all;
  const written = ['PUT', 'POST', 'PATCH'].includes(method)
    ? Object.entries(BODIES).map(([type, body]) => ({
        path,
        headers: { 'content-type': type.split(' ')[0] ?? '' },
        body,
      }))
    : [];
  return [...claims, ...written];
}

/** What other programs would believe. */
const CLAIMS = {
  'x-remote-user': 'system:node:victim',
  'x-remote-group': 'system:nodes',
  'x-forwarded-client-cert': 'Subject="O=system:nodes,CN=system:node:victim"',
  'x-forwarded-for': '127.0.0.1',
  authorization: 'Bearer aaaaaa.aaaaaaaaaaaaaaaa',
};

/** Content type, and what tells two of the same type apart → body. */
const BODIES: Readonly<Record<string, string>> = {
  'application/json half': '{"config":',
  'application/json of-another-host': '{"node":"victim","config":"rendered-victim-1"}',
  'application/json with-a-prototype': '{"__proto__":{"node":"victim"}}',
  'application/json deep': `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  'application/json oversized': JSON.stringify({ config: 'a'.repeat(20 * 1024 * 1024) }),
  'text/plain other': 'config',
};

function pathsOf(url: string, names: readonly string[]): readonly string[] {
  if (url.includes(':name')) return names.map((name) => url.replace(':name', name));
  if (!url.endsWith('*')) return [url];
  const pools = ['master', 'worker', 'victim'].map((pool) => `config/${pool}`);
  return [...pools, 'host-worker/amd64', 'host/configs/rendered-victim-1'].map((rest) =>
    url.replace('*', rest),
  );
}

/** @param as - with the client's certificate; undefined = none */
export function askRoute(
  { origin, method }: Pick<ServedRoute, 'origin' | 'method'>,
  { path, headers = {}, body }: HostileRequest,
  { caFile, as }: { readonly caFile: string; readonly as: ClientFiles | undefined },
): Promise<RouteAnswer> {
  const options = {
    ...{ method, headers, agent: false },
    ca: readFileSync(caFile),
    ...(as === undefined ? {} : { cert: readFileSync(as.certFile), key: readFileSync(as.keyFile) }),
  };
  const request = origin.startsWith('https:') ? overTls : overHttp;
  return new Promise((resolve) => {
    const broken = ({ code = '' }: NodeJS.ErrnoException): void =>
      resolve({ status: undefined, text: code });
    const sent = request(`${origin}${path}`, options, (response) => {
      const { statusCode: status } = response;
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status, text }));
      response.on('error', broken);
    });
    sent.on('error', broken);
    sent.end(body);
  });
}

/** The body stays out. Resolves when the server has got the head of the request. */
export async function sendSlowly({ origin, url, method }: ServedRoute, as: ClientFiles) {
  const socket = await openTls(origin, as, { protocols: ['http/1.1'] });
  let answer = '';
  socket.on('data', (part: Buffer) => (answer += part.toString('latin1')));
  const head = `${method} ${url} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{`;
  await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  return { answer: () => answer, end: () => socket.destroy() };
}
