/** The Secret with the keys of payloads, on a real API server, with the rights of deploy/rbac. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import { SECRETS, type Secret } from '../../../adapters/kube/resources';
import { makePayloadKeys } from '../../../controllers/payload-keys';
import { createLogger } from '../../../process/logging';
import { payloadCodec } from '../../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../../process/temporal/payload-keys';
import { QUIET, takeApiServer, type TestApiServer } from '../crds/api-server';
import { installRights } from './rights';

jest.setTimeout(120_000);

const KEY = { namespace: 'slipway', name: 'slipway-payload-keys' };
const lines: string[] = [];
const write = (line: string): void => void lines.push(line);
const log = createLogger({ process: 'test', level: 'debug', destination: { write } });
const stop = new AbortController();

let api: TestApiServer;
let client: KubeClient;

beforeAll(async () => {
  api = await takeApiServer();
  await installRights(api);
  client = await connectKube({
    kubeconfig: await api.kubeconfigFor('slipway-controllers'),
    userAgent: 'slipway-tests',
    log: QUIET,
  });
});
afterEach(() => api.client.delete(SECRETS, KEY));
afterAll(async () => {
  stop.abort();
  client?.close();
  await api?.stop();
});

/** As a leader does. */
const make = () => makePayloadKeys({ kube: client, namespace: KEY.namespace, log }, stop.signal);
const stored = () => api.client.get<Secret>(SECRETS, KEY);

it('is made once, also by two leaders, with one key that no log shows', async () => {
  await Promise.all([make(), make()]);
  const first = await stored();
  await make();

  expect((await stored()).metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  const [[id = '', key = ''] = []] = Object.entries(first.data ?? {});
  expect(Object.keys(first.data ?? {})).toHaveLength(1);
  expect(id).toMatch(/^\d{8}T\d{6}Z$/);
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
  expect(first.metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'slipway' });
  expect(lines.join('')).toContain(id);
  expect(lines.join('')).not.toContain(key);
});

it('of a person stays as it is', async () => {
  const data = { '20260101T000000Z': randomBytes(32).toString('base64') };
  const { metadata } = await api.client.create(SECRETS, { metadata: KEY, data });

  await make();

  expect(await stored()).toMatchObject({
    metadata: { resourceVersion: metadata.resourceVersion },
    data,
  });
});

it('keeps the old keys when a person adds one, and what they encoded can be read until they are dropped', async () => {
  await make();
  const [old = ''] = Object.keys((await stored()).data ?? {});
  const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"a"') };
  const encoded = await inProcess((codec) => codec.encode([payload]));

  // The commands of docs/security.md.
  const added = randomBytes(32).toString('base64');
  await api.client.patch(SECRETS, KEY, { data: { '20990101T000000Z': added } });
  await make();
  expect(Object.keys((await stored()).data ?? {})).toEqual([old, '20990101T000000Z']);
  const [read] = await inProcess((codec) => codec.decode(encoded));
  expect(Buffer.from(read?.data ?? []).toString()).toBe('"a"');

  await api.client.patch(SECRETS, KEY, { data: { [old]: null } });
  await make();
  expect((await stored()).data).toEqual({ '20990101T000000Z': added });
  await expect(inProcess((codec) => codec.decode(encoded))).rejects.toMatchObject({
    message: expect.stringContaining(old) as string,
  });
});

/** With the Secret as the kubelet mounts it. */
async function inProcess<R>(
  work: (codec: ReturnType<typeof payloadCodec>) => Promise<R>,
): Promise<R> {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-payload-keys-'));
  try {
    for (const [name, text] of Object.entries((await stored()).data ?? {})) {
      writeFileSync(join(directory, name), Buffer.from(text, 'base64'));
    }
    return await work(payloadCodec(new PayloadKeyFiles(directory, { log })));
  } finally {
    rmSync(directory, { recursive: true });
  }
}
