/** `/healthz`, `/readyz` and `/metrics` of a process. */

import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

interface HealthOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly registry: Registry;
  /** The blockers of the start. */
  readonly waitingFor: () => readonly string[];
  /** Why the process must be replaced; undefined = no need. */
  readonly deathSentence?: () => string | undefined;
  /** More metrics in the same format: those of the Temporal SDK. */
  readonly moreMetrics?: string;
}

interface HealthServer {
  readonly url: string;
  close(): Promise<void>;
}

interface Reply {
  readonly code: number;
  readonly type: string;
  readonly body: string;
}

/** @throws when the port is taken */
export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    answer(request.url ?? '/', options)
      .catch((error: unknown) => plain(500, String(error)))
      .then(({ code, type, body }) => {
        response.writeHead(code, { 'content-type': type });
        response.end(body);
      })
      .catch(() => {
        // The client is gone.
        response.destroy();
      });
  });
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

async function answer(path: string, options: HealthOptions): Promise<Reply> {
  switch (path.split('?')[0]) {
    case '/healthz': {
      const sentence = options.deathSentence?.();
      return sentence === undefined ? plain(200, 'ok\n') : plain(503, `${sentence}\n`);
    }
    case '/readyz': {
      const missing = options.waitingFor();
      return missing.length === 0
        ? plain(200, 'ok\n')
        : plain(503, `waiting for ${missing.join(', ')}\n`);
    }
    case '/metrics': {
      const own = await options.registry.metrics();
      const more = options.moreMetrics === undefined ? '' : await fetchText(options.moreMetrics);
      return { code: 200, type: options.registry.contentType, body: `${own}\n${more}` };
    }
    default:
      return plain(404, 'not found: /healthz, /readyz, /metrics\n');
  }
}

function plain(code: number, body: string): Reply {
  return { code, type: 'text/plain; charset=utf-8', body };
}

/** The SDK's metrics; empty when they do not come. */
function fetchText(url: string): Promise<string> {
  return new Promise((resolve) => {
    const request = get(url, (reply) => {
      let body = '';
      reply.setEncoding('utf8');
      reply.on('data', (chunk: string) => {
        body += chunk;
      });
      reply.on('end', () => {
        resolve(reply.statusCode === 200 ? body : '');
      });
    });
    request.on('error', () => {
      resolve('');
    });
  });
}

function listen(server: Server, { host, port }: HealthOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** For a listener that cannot report its port. */
export async function freeLoopbackPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
