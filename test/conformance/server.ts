/**
 * `mcs-http.json`: a request → the answer of the Machine Config Server during installation. It has a config for
 * the pool `master` that every spec version can express.
 */

import { request, type RequestOptions } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { buildIgnition } from '../../server/ignition/app';
import { createBootstrapSource } from '../../server/ignition/bootstrap-source';
import { prepareNow } from '../../server/ignition/prepare';
import { createShelf } from '../../server/ignition/shelf';
import { createJoinGate } from '../../server/join-gate';
import { repositoryRoot } from '../../tools/repository-root';
import { casesOf, type ConformanceKind, type JsonObject } from './kind';

const LIMITS = { maxConnections: 1, maxConnectionsPerAddress: 1 };

export const serverKind: ConformanceKind = {
  name: 'answers of the Machine Config Server',
  matches: (file) => {
    const first = casesOf(file)?.[0];
    return first !== undefined && 'method' in first && 'path' in first && 'status' in first;
  },
  cases: (file) =>
    (casesOf(file) ?? []).map((testCase) => {
      const { method, path, accept } = testCase;
      return {
        name: `${String(method)} ${String(path)} Accept: ${String(accept)}`,
        run: async () => ({ expected: testCase, actual: await answer(testCase) }),
      };
    }),
};

/** Over a socket, because fastify cleans the paths of injected requests. */
async function answer(testCase: JsonObject): Promise<JsonObject> {
  const { method, path, accept } = testCase;
  const { app } = buildServer();
  try {
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const reply = await send({
      host: '127.0.0.1',
      port,
      method: String(method),
      path: String(path),
      headers: typeof accept === 'string' && accept !== '' ? { accept } : {},
    });
    return {
      method,
      path,
      ...('accept' in testCase ? { accept } : {}),
      status: reply.status,
      contentType: reply.contentType ?? '',
      ignitionVersion: versionOf(reply.body),
      bodyEmpty: reply.body === '',
    };
  } finally {
    await app.close();
  }
}

interface Reply {
  readonly status: number | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

function send(options: RequestOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (response) => {
      text(response).then((body) => {
        const { statusCode, headers } = response;
        resolve({ status: statusCode, contentType: headers['content-type'], body });
      }, reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

function buildServer() {
  const prepare = async (...[job]: Parameters<typeof prepareNow>) => prepareNow(job);
  return buildIgnition({
    source: createBootstrapSource({
      directory: join(repositoryRoot(), 'test', 'conformance', 'bootstrap'),
      facts: () => ({ kubeconfig: 'apiVersion: v1\nkind: Config\n' }),
    }),
    shelf: createShelf({
      preparer: { prepare, close: () => Promise.resolve() },
      maxBytes: 1024 * 1024,
    }),
    // MCO's server needs no token.
    gate: createJoinGate({
      mode: 'open',
      allowedNetworks: [],
      tokens: { isSynced: true, find: () => undefined },
      now: () => 0,
    }),
    events: {
      sent: () => undefined,
      missed: () => undefined,
      substituted: () => undefined,
      dropped: () => undefined,
      answered: () => undefined,
    },
    logger: pino({ level: 'silent' }),
    limits: LIMITS,
  });
}

/** The version in the body; null when it is no config. */
function versionOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { ignition: { version: string } }).ignition.version;
  } catch {
    return null;
  }
}
