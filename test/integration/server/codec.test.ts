/** The codec for the Temporal UI, with tokens and rights of a real API server. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { createLogger } from '../../../process/logging';
import { payloadCodec } from '../../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../../process/temporal/payload-keys';
import { applyManifest } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';

jest.setTimeout(240_000);

const ORIGIN = 'https://temporal.example.com';
const PLAIN = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"a word"') };

let directory: string;
let fixture: EndpointFixture;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'slipway-codec-'));
  await writeFile(join(directory, '20260101T000000Z'), randomBytes(32));
  fixture = await startEndpoint([], {
    ...{ payloadKeys: directory, codecPort: 0, codecOrigin: ORIGIN },
  });
  await account('operator', 'slipway-operate');
  await account('viewer', 'slipway-view');
});
afterAll(async () => {
  await fixture?.stop();
  await rm(directory, { recursive: true });
});

async function account(name: string, role: string): Promise<void> {
  const namespace = 'default';
  await applyManifest(fixture.kube.admin, {
    ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
  });
  await applyManifest(fixture.kube.admin, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `codec-${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
}

async function tokenOf(name: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
  const { status } = await fixture.kube.cluster.admin.call<{ status: { token: string } }>(
    'POST',
    path,
    body,
  );
  return status.token;
}

/** As the UI sends them. */
async function encoded(): Promise<string> {
  const log = createLogger({ process: 'test', level: 'silent' });
  const payloads = await payloadCodec(new PayloadKeyFiles(directory, { log })).encode([PLAIN]);
  const text = (value: Uint8Array | null | undefined) =>
    Buffer.from(value ?? []).toString('base64');
  return JSON.stringify({
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [name, text(value)]),
      ),
      data: text(data),
    })),
  });
}

interface Asking {
  readonly token?: string;
  readonly origin?: string;
  readonly method?: string;
}

async function ask({ token, origin = ORIGIN, method = 'POST' }: Asking) {
  const { codecUrl = '' } = fixture.server;
  const ca = await readFile(fixture.serverFiles.caFile);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { 'content-type': 'application/json', origin, ...authorization };
  const body = method === 'POST' ? await encoded() : '';
  return new Promise<{ status: number; allowed: unknown; body: unknown }>((resolve, reject) => {
    const sent = request(`${codecUrl}/decode`, { method, ca, headers }, (response) => {
      const { statusCode: status = 0 } = response;
      const allowed = response.headers['access-control-allow-origin'];
      const read = status === 204 ? Promise.resolve(undefined) : json(response);
      read.then((answered) => resolve({ status, allowed, body: answered }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

it('decodes for a token whose user may get payloads', async () => {
  expect(await ask({ token: await tokenOf('operator') })).toEqual({
    status: 200,
    allowed: ORIGIN,
    body: {
      payloads: [
        {
          metadata: { encoding: PLAIN.metadata.encoding.toString('base64') },
          data: PLAIN.data.toString('base64'),
        },
      ],
    },
  });
});

it('refuses a token of another user of the cluster, and names them', async () => {
  expect(await ask({ token: await tokenOf('viewer') })).toMatchObject({
    status: 403,
    body: {
      message: expect.stringContaining(
        'system:serviceaccount:default:viewer may not get payloads.slipway.dev',
      ) as string,
    },
  });
});

it.each([
  ['no token', undefined],
  ['a token that the API server does not know', 'eyJhbGciOiJSUzI1NiJ9.e30.AAAA'],
])('refuses %s', async (_what, token) => {
  expect(await ask(token === undefined ? {} : { token })).toMatchObject({ status: 401 });
});

it('lets a browser ask from the page of the UI, and from no other one', async () => {
  const token = await tokenOf('operator');

  expect(await ask({ method: 'OPTIONS' })).toMatchObject({ status: 204, allowed: ORIGIN });
  const other = await ask({ token, origin: 'https://evil.example.com' });
  expect(other).toMatchObject({ status: 403, allowed: undefined });
});
