import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKube, type KubeClient } from '../../../../adapters/kube/client';
import { NodePods } from '../../../../adapters/kube/node-pods';
import { NODES } from '../../../../adapters/kube/resources';

let server: Server;
let answer: RequestListener;
let client: KubeClient;
let directory: string;
let logged: string[];

beforeEach(async () => {
  logged = [];
  server = createServer((request, response) => {
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  directory = mkdtempSync(join(tmpdir(), 'slipway-client-'));
  client = await connectKube({ kubeconfig: kubeconfig(), userAgent: 'test/1', log });
});

afterEach(async () => {
  client.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

const log = {
  debug: () => undefined,
  info: (_fields: object, message: string) => logged.push(message),
  warn: (_fields: object, message: string) => logged.push(message),
  error: (_fields: object, message: string) => logged.push(message),
};

function kubeconfig(): string {
  const file = join(directory, 'config');
  const { port } = server.address() as AddressInfo;
  const content = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 'SECRET' } }],
  };
  writeFileSync(file, JSON.stringify(content));
  return file;
}

it('a kubeconfig that cannot be used is a setting that cannot be used', async () => {
  const connecting = connectKube({
    kubeconfig: join(directory, 'none'),
    userAgent: 'test/1',
    log,
  });

  await expect(connecting).rejects.toMatchObject({
    name: 'SettingsError',
    message: expect.stringMatching(/^kubeconfig .*none cannot be read: ENOENT/) as string,
  });
});

function answers(code: number, body: object | string, headers: Record<string, string> = {}): void {
  answer = (_request, response) => {
    response.writeHead(code, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

const status = (message: string, more: object = {}) => ({ kind: 'Status', message, ...more });

it.each([
  [404, 'ObjectNotFound'],
  [409, 'Conflict'],
  [403, 'ApiForbidden'],
  [400, 'ApiRefused'],
  [422, 'ApiRefused'],
  [410, 'ApiUnavailable'],
  [429, 'ApiUnavailable'],
  [500, 'ApiUnavailable'],
  [503, 'ApiUnavailable'],
])('a refusal with %s is %s, with the words of the API server', async (code, name) => {
  answers(code, status('said so', { reason: 'Because' }));

  await expect(client.get(NODES, { name: 'a' })).rejects.toMatchObject({
    name,
    message: 'get Node a: said so',
    details: { code, reason: 'Because' },
  });
});

it('says what to do about unknown credentials', async () => {
  answers(401, status('Unauthorized'));

  await expect(client.get(NODES, { name: 'a' })).rejects.toMatchObject({
    name: 'ApiForbidden',
    message:
      'get Node a: Unauthorized: the API server does not accept the credentials; ' +
      'check the user of the kubeconfig',
    details: { code: 401 },
  });
});

it('understands a proxy that answers with HTML', async () => {
  answers(502, '<html>Bad Gateway</html>');

  await expect(client.get(NODES, { name: 'a' })).rejects.toMatchObject({
    name: 'ApiUnavailable',
    message: 'get Node a: the API server answered 502',
  });
});

it('says which of its credentials cannot be read, and that no server is to blame', async () => {
  const file = kubeconfig();
  const content = readFileSync(file, 'utf8').replace('"token":"SECRET"', '"tokenFile":"gone"');
  writeFileSync(file, content);
  const locked = await connectKube({ kubeconfig: file, userAgent: 'test/1', log });

  await expect(locked.get(NODES, { name: 'a' })).rejects.toThrow(
    /^get Node a: the credentials for the Kubernetes API at http:\S+ cannot be read: ENOENT.*gone/,
  );
  await expect(locked.get(NODES, { name: 'a' })).rejects.toMatchObject({
    name: 'ApiUnavailable',
  });

  expect(logged).toEqual(['credentials for the Kubernetes API cannot be read; waiting for them']);
  locked.close();
});

it('names the server that does not answer and the cause, never with the token, and logs it once', async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));

  for (let attempt = 0; attempt < 2; attempt += 1) {
    const failed = client.get(NODES, { name: 'a' });
    await expect(failed).rejects.toMatchObject({ name: 'ApiUnavailable' });
    await expect(failed).rejects.toThrow(
      /^get Node a: the Kubernetes API at http:\/\/127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\)$/,
    );
  }
  expect(logged).toEqual(['Kubernetes API does not answer; waiting for it']);
});

it('sends its user agent and reads lists page by page', async () => {
  const requests: string[] = [];
  answer = (request, response) => {
    requests.push(
      `${request.headers['user-agent']} ${request.headers.authorization} ${request.url}`,
    );
    const isLast = request.url?.includes('continue=more') === true;
    response.end(
      JSON.stringify({
        items: [{ metadata: { name: isLast ? 'b' : 'a' } }],
        metadata: { resourceVersion: '7', ...(isLast ? {} : { continue: 'more' }) },
      }),
    );
  };

  const list = await client.list(NODES, { labelSelector: 'a=b' });

  expect(list.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  expect(list.resourceVersion).toBe('7');
  expect(requests).toEqual([
    'test/1 Bearer SECRET /api/v1/nodes?limit=500&labelSelector=a%3Db',
    'test/1 Bearer SECRET /api/v1/nodes?limit=500&continue=more&labelSelector=a%3Db',
  ]);
});

describe('a watch', () => {
  const watch = async (): Promise<readonly string[]> => {
    const seen: string[] = [];
    const events = client.watch(NODES, {
      resourceVersion: '1',
      signal: new AbortController().signal,
    });
    for await (const { type, object } of events) seen.push(`${type} ${object.metadata.name}`);
    return seen;
  };
  const event = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;

  it('puts events together that arrive in pieces, and skips what it cannot read', async () => {
    answer = (_request, response) => {
      const line = event('ADDED', { metadata: { name: 'knöten' } });
      const bytes = Buffer.from(line);
      const middle = bytes.indexOf(0xc3) + 1;
      response.write(bytes.subarray(0, middle));
      setImmediate(() => {
        response.write(bytes.subarray(middle));
        response.write('{"type":"ADDED"}\nnot json\n');
        response.end(event('DELETED', { metadata: { name: 'a' } }));
      });
    };

    await expect(watch()).resolves.toEqual(['ADDED knöten', 'DELETED a']);
    expect(logged).toEqual([
      'skipped an unreadable watch event',
      'skipped an unreadable watch event',
    ]);
  });

  it('fails with the code of an ERROR event', async () => {
    answers(200, event('ERROR', status('too old resource version', { code: 410 })));

    await expect(watch()).rejects.toMatchObject({
      name: 'ApiUnavailable',
      details: { code: 410 },
    });
  });

  it('that breaks off is an API server that went away', async () => {
    answer = (_request, response) => {
      response.write(event('ADDED', { metadata: { name: 'a' } }), () => response.destroy());
    };

    await expect(watch()).rejects.toMatchObject({ name: 'ApiUnavailable', details: { code: 0 } });
  });

  describe('of a server that falls silent', () => {
    const silent = async (): Promise<KubeClient> =>
      connectKube({ kubeconfig: kubeconfig(), userAgent: 'test/1', silenceMs: 50, log });

    it.each([
      ['in the middle', event('ADDED', { metadata: { name: 'a' } }), ['opened', 'a']],
      ['before it has taken it', undefined, []],
    ])('%s is given up, with the reason', async (_when, said, seen) => {
      answer = (_request, response) => {
        if (said !== undefined) response.write(said);
      };
      const impatient = await silent();
      const heard: string[] = [];
      const following = async (): Promise<void> => {
        for await (const { object } of impatient.watch(NODES, {
          resourceVersion: '1',
          signal: new AbortController().signal,
          opened: () => heard.push('opened'),
        })) {
          heard.push(object.metadata.name);
        }
      };

      await expect(following()).rejects.toMatchObject({
        name: 'ApiUnavailable',
        message: expect.stringMatching(/it sent nothing for 0 s/) as string,
      });
      expect(heard).toEqual(seen);
      impatient.close();
    });
  });

  it('ends quietly when it is aborted', async () => {
    const stopping = new AbortController();
    answer = (_request, response) => {
      response.write(event('ADDED', { metadata: { name: 'a' } }));
    };

    const seen: string[] = [];
    for await (const { object } of client.watch(NODES, {
      resourceVersion: '1',
      signal: stopping.signal,
    })) {
      seen.push(object.metadata.name);
      stopping.abort();
    }

    expect(seen).toEqual(['a']);
  });
});

describe('an eviction', () => {
  const evict = (options: { readonly gracePeriodSeconds?: number } = {}) =>
    new NodePods(client, log).evict(
      { namespace: 'shop', name: 'cart', uid: 'u' },
      { ...options, signal: new AbortController().signal },
    );

  /** Accepts all requests; returns the last body. */
  function accepting(): () => unknown {
    let sent = '';
    answer = (request, response) => {
      sent = '';
      request.on('data', (chunk: Buffer) => (sent += chunk.toString()));
      request.on('end', () => response.writeHead(201).end('{}'));
    };
    return () => JSON.parse(sent) as unknown;
  }

  it('is for this very pod', async () => {
    const sent = accepting();

    await expect(evict()).resolves.toEqual({ outcome: 'accepted' });
    expect(sent()).toEqual({
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'cart', namespace: 'shop' },
      deleteOptions: { preconditions: { uid: 'u' } },
    });
  });

  it.each([0, 45])('gives the pod the grace period of its drain: %s s', async (seconds) => {
    const sent = accepting();

    await evict({ gracePeriodSeconds: seconds });

    expect(sent()).toMatchObject({ deleteOptions: { gracePeriodSeconds: seconds } });
  });

  it.each([
    ['no such pod', 404, {}, { outcome: 'gone' }],
    ['another pod of that name', 409, {}, { outcome: 'gone' }],
    [
      'a namespace that is being deleted',
      403,
      { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
      { outcome: 'namespaceTerminating' },
    ],
    [
      'a budget',
      429,
      { details: { causes: [{ reason: 'DisruptionBudget', message: 'needs 1 healthy pods' }] } },
      { outcome: 'refused', said: 'needs 1 healthy pods' },
    ],
    [
      'two budgets',
      500,
      { message: 'more than one' },
      { outcome: 'refused', said: 'more than one' },
    ],
    [
      'a webhook that denies it',
      400,
      { message: 'admission webhook "evictions.shop" denied the request: open until six' },
      {
        outcome: 'refused',
        said: 'admission webhook "evictions.shop" denied the request: open until six',
      },
    ],
    [
      'a webhook that forbids it',
      403,
      { message: 'admission webhook "evictions.shop" denied the request: open until six' },
      {
        outcome: 'refused',
        said: 'admission webhook "evictions.shop" denied the request: open until six',
      },
    ],
    [
      'an admission policy that denies it',
      422,
      {
        message: 'pods "cart" is forbidden: ValidatingAdmissionPolicy \'shop\' denied request',
        details: { causes: [{ message: 'denied request' }] },
      },
      {
        outcome: 'refused',
        said: 'pods "cart" is forbidden: ValidatingAdmissionPolicy \'shop\' denied request',
      },
    ],
    [
      'a server that does not permit it',
      403,
      { message: 'User "slipway" cannot create resource "pods/eviction"' },
      { outcome: 'refused', said: 'User "slipway" cannot create resource "pods/eviction"' },
    ],
  ])('answered by %s', async (_name, code, body, outcome) => {
    answers(code, status('no', body));

    await expect(evict()).resolves.toEqual(outcome);
  });

  it('under way is never broken off: the server would charge the budget and keep the pod', async () => {
    const cancel = new AbortController();
    let closedEarly = false;
    answer = (request, response) => {
      request.socket.on('close', () => (closedEarly = !response.writableEnded));
      cancel.abort();
      // An aborted request would be torn down in the next turn of the event loop.
      setImmediate(() => response.writeHead(201).end('{}'));
    };

    const evicted = new NodePods(client, log).evict(
      { namespace: 'shop', name: 'cart', uid: 'u' },
      { signal: cancel.signal },
    );

    await expect(evicted).resolves.toEqual({ outcome: 'accepted' });
    expect(closedEarly).toBe(false);
  });

  it('by a process that the server does not know is no answer about the pod', async () => {
    answers(401, status('Unauthorized'));

    await expect(evict()).rejects.toMatchObject({ name: 'ApiForbidden' });
  });

  it('says when to come back', async () => {
    answers(429, status('too many requests'), { 'retry-after': '10' });

    await expect(evict()).resolves.toEqual({
      outcome: 'refused',
      said: 'too many requests',
      retryAfterSeconds: 10,
    });
  });
});

it.each(['get', 'delete'] as const)('does not %s all objects for an empty name', async (verb) => {
  const asked: string[] = [];
  answer = (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('{"kind":"NodeList","items":[]}');
  };
  await expect(client[verb](NODES, { name: '' })).rejects.toMatchObject({
    name: 'ObjectNotFound',
    message: 'there is no Node without a name',
  });
  expect(asked).toEqual([]);
});
