/** The certificates of the server, on a real API server, with the rights of deploy/rbac. */

import { X509Certificate } from 'node:crypto';
import { pino } from 'pino';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import {
  CONFIG_MAPS,
  CONTROLLER_CONFIGS,
  EVENTS,
  SECRETS,
  type ConfigMap,
  type KubeObject,
  type Secret,
} from '../../../adapters/kube/resources';
import { WatchCache } from '../../../adapters/kube/cache';
import { EventWriter } from '../../../adapters/kube/events';
import { CertificateController } from '../../../controllers/certificates';
import { createEventRecorder } from '../../../controllers/event-recorder';
import { fencedWriter } from '../../../controllers/fenced-writer';
import { certificateBlocks, isSignedBy } from '../../../core/certificates';
import { failureName } from '../../../core/errors';
import { ANNOTATION, FIELD_MANAGER } from '../../../core/names';
import { newAuthority } from '../../../tools/cluster/certificates';
import { QUIET, takeApiServer, type TestApiServer } from '../crds/api-server';
import { until } from '../tools/until';
import { installRights } from './rights';
import { startControllers } from './fixture';

jest.setTimeout(120_000);

const DAY = 86_400_000;
const namespace = 'slipway';
const AUTHORITY = 'slipway-server-ca';
const SERVING = 'slipway-server-tls';

let api: TestApiServer;
let client: KubeClient;
const running: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  api = await takeApiServer();
  await installRights(api);
  client = await connectKube({
    kubeconfig: await api.kubeconfigFor('slipway-controllers'),
    userAgent: 'slipway-tests',
    log: QUIET,
  });
});
afterAll(async () => {
  client?.close();
  await api?.stop();
});
beforeEach(async () => {
  for (const name of [AUTHORITY, SERVING]) {
    await api.client.delete(SECRETS, { namespace, name });
  }
  for (const name of [AUTHORITY, 'slipway-client-ca']) {
    await api.client.delete(CONFIG_MAPS, { namespace, name });
  }
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

interface Lead {
  readonly nowMs?: number;
  readonly names?: readonly string[];
  readonly issues?: boolean;
}

/** The controller as the leader runs it, with a clock of its own. */
function lead({ nowMs = Date.now(), names = ['slipway.example.com'], issues = true }: Lead = {}) {
  const ending = new AbortController();
  const lines: string[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
  const leadership = { throwIfOver: () => ending.signal.throwIfAborted() };
  const controllerConfigs = new WatchCache<KubeObject>({
    resource: CONTROLLER_CONFIGS,
    log: QUIET,
  });
  const following = controllerConfigs.run(client, ending.signal);
  const writer = new EventWriter(client, FIELD_MANAGER.CONTROLLERS);
  const controller = new CertificateController(
    {
      ...{ source: client, controllerConfigs, log, namespace, issues, serverNames: names },
      events: createEventRecorder(writer, ending.signal, log),
      writerWith: (absorb) => fencedWriter(client, absorb, leadership),
      now: () => nowMs,
    },
    ending.signal,
  );
  const stop = async (): Promise<void> => {
    ending.abort();
    await Promise.all([controller.idle(), following]);
  };
  running.push({ stop });
  return { lines, stop };
}

async function found<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}
const secret = (name: string) => found(api.client.get<Secret>(SECRETS, { namespace, name }));
const configMap = (name: string) =>
  found(api.client.get<ConfigMap>(CONFIG_MAPS, { namespace, name }));
const textOf = (object: Secret | undefined, field: string) =>
  Buffer.from(object?.data?.[field] ?? '', 'base64').toString();

/** What machines and the server see, once they fit together. */
async function whenWhole(isNew: (serving: X509Certificate) => boolean = () => true) {
  let seen: Awaited<ReturnType<typeof look>>;
  await until(async () => {
    seen = await look();
    return seen !== undefined && isNew(seen.serving);
  }, 'the server has a certificate of the present authority');
  if (seen === undefined) throw new Error('it was there');
  return seen;
}

async function look() {
  const [authority, serving, bundle] = [
    textOf(await secret(AUTHORITY), 'tls.crt'),
    await secret(SERVING),
    (await configMap(AUTHORITY))?.data?.['ca.crt'],
  ];
  const chain = certificateBlocks(textOf(serving, 'tls.crt'));
  const [first] = chain;
  if (authority === '' || first === undefined || bundle === undefined) return undefined;
  const parsed = new X509Certificate(first);
  if (!isSignedBy(parsed, new X509Certificate(authority))) return undefined;
  if (textOf(serving, 'ca.crt') !== bundle) return undefined;
  return {
    authority,
    serving: parsed,
    chain,
    bundle: certificateBlocks(bundle),
    type: serving?.type,
  };
}

const fingerprint = ({ fingerprint256 }: X509Certificate) => fingerprint256;

it('are issued at first: an authority, a certificate for the names, and the bundle', async () => {
  const { lines } = lead({ names: ['slipway.example.com', '10.0.0.7'] });

  const { serving, bundle, authority, chain, type } = await whenWhole();

  expect(serving.checkHost('slipway.example.com')).toBeDefined();
  expect(serving.checkHost('slipway-server.slipway.svc')).toBeDefined();
  expect(serving.checkIP('10.0.0.7')).toBeDefined();
  expect(bundle).toEqual([authority.trim()]);
  expect(chain).toHaveLength(1);
  expect(type).toBe('kubernetes.io/tls');
  expect((await secret(AUTHORITY))?.type).toBe('kubernetes.io/tls');
  expect(lines.join('')).not.toContain('PRIVATE KEY');
  expect(lines.join('')).not.toContain('is forbidden');
});

it('are issued anew at two thirds, and when the names are others', async () => {
  const before = lead();
  const first = await whenWhole();
  await before.stop();

  const later = lead({ nowMs: Date.now() + 61 * DAY });
  const second = await whenWhole((now) => fingerprint(now) !== fingerprint(first.serving));
  await later.stop();
  expect(second.authority).toBe(first.authority);

  lead({ nowMs: Date.now() + 61 * DAY, names: ['other.example.com'] });
  const third = await whenWhole((now) => now.checkHost('other.example.com') !== undefined);
  expect(third.serving.checkHost('slipway.example.com')).toBeUndefined();
});

it.each([
  ['a tenth of the life of the authority is left', 3_300, undefined],
  ['a person asks', 1, { [ANNOTATION.RENEW]: 'now' }],
])('rotate with an overlap when %s', async (_when, days, annotations) => {
  const before = lead();
  const first = await whenWhole();
  await before.stop();
  if (annotations !== undefined) {
    const key = { namespace, name: AUTHORITY };
    await api.client.patch(SECRETS, key, { metadata: { annotations } });
  }

  lead({ nowMs: Date.now() + days * DAY });

  const second = await whenWhole((now) => fingerprint(now) !== fingerprint(first.serving));
  expect(second.authority).not.toBe(first.authority);
  expect(second.bundle).toEqual([second.authority.trim(), first.authority.trim()]);
  // The second of the chain is the new authority, for which the old one vouches.
  const link = new X509Certificate(second.chain[1] ?? '');
  expect(link.verify(new X509Certificate(first.authority).publicKey)).toBe(true);
  expect(link.subject).toBe(new X509Certificate(second.authority).subject);
  const stored = await secret(AUTHORITY);
  expect(stored?.metadata.annotations?.[ANNOTATION.RENEW]).toBeUndefined();
});

it('are made again when a person deletes them', async () => {
  const { lines } = lead();
  const first = await whenWhole();

  await api.client.delete(SECRETS, { namespace, name: SERVING });
  const second = await whenWhole((now) => fingerprint(now) !== fingerprint(first.serving));
  expect(second.authority).toBe(first.authority);

  await api.client.delete(CONFIG_MAPS, { namespace, name: AUTHORITY });
  await whenWhole();

  await api.client.delete(SECRETS, { namespace, name: AUTHORITY });
  const third = await whenWhole((now) => fingerprint(now) !== fingerprint(second.serving));
  expect(third.authority).not.toBe(first.authority);
  expect(lines.join('')).toContain('machines trust it when they have it');
});

it('of somebody else stay as they are, and machines get their authority', async () => {
  const { certificate, key } = await newAuthority('of a person');
  const data = Object.fromEntries(
    Object.entries({ 'tls.crt': certificate, 'tls.key': key, 'ca.crt': certificate }).map(
      ([field, text]) => [field, Buffer.from(text).toString('base64')],
    ),
  );
  const theirs = { metadata: { namespace, name: SERVING }, type: 'kubernetes.io/tls', data };
  const { metadata } = await api.client.create(SECRETS, theirs);
  const own = {
    metadata: { namespace, name: 'slipway-client-ca' },
    data: { 'ca.crt': certificate },
  };
  await api.client.create(CONFIG_MAPS, own);

  lead();

  await until(
    async () => (await configMap(AUTHORITY))?.data?.['ca.crt'] === certificate,
    'their authority is published',
  );
  expect((await secret(SERVING))?.metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(await secret(AUTHORITY)).toBeUndefined();
  expect((await configMap('slipway-client-ca'))?.data).toEqual({ 'ca.crt': certificate });
});

it('are left to another program where that is set', async () => {
  lead({ issues: false });

  await until(async () => (await configMap('slipway-client-ca')) !== undefined, 'it has looked');
  expect(await secret(SERVING)).toBeUndefined();
  expect(await secret(AUTHORITY)).toBeUndefined();
});

it('with a broken key are reported once with the object, the field and a command, and stay', async () => {
  const before = lead();
  const first = await whenWhole();
  await before.stop();
  const broken = Buffer.from('SECRET-NOISE').toString('base64');
  const key = { namespace, name: AUTHORITY };
  await api.client.patch(SECRETS, key, { data: { 'tls.key': broken } });

  const { lines } = lead({ nowMs: Date.now() + 61 * DAY });

  const about = () => lines.filter((line) => line.includes('certificates need a person'));
  await until(async () => about().length > 0, 'it is reported');
  await api.client.patch(SECRETS, key, { metadata: { annotations: { touched: 'yes' } } });
  await until(async () => {
    const { items } = await api.client.list(EVENTS, { namespace });
    return items.some((event) => JSON.stringify(event).includes('CertificateProblem'));
  }, 'there is an Event');
  expect(about()).toHaveLength(1);
  expect(JSON.parse(about()[0] ?? '')).toMatchObject({
    object: 'secret slipway/slipway-server-ca',
    field: 'tls.key',
    mend: expect.stringContaining('kubectl -n slipway delete secret') as string,
  });
  expect(lines.join('')).not.toContain('SECRET-NOISE');
  const { serving } = await whenWhole();
  expect(fingerprint(serving)).toBe(fingerprint(first.serving));
});

it('the authorities of kubelets follow those of the cluster', async () => {
  const source = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const before = (await api.client.get(CONFIG_MAPS, source)).data?.['client-ca-file'] ?? '';
  lead();
  const has = async (pem: string) =>
    (await configMap('slipway-client-ca'))?.data?.['ca.crt'] === pem;
  await until(() => has(before), 'they are those of the cluster');

  const { certificate } = await newAuthority('of more kubelets');
  const change = { data: { 'client-ca-file': `${before}${certificate}` } };
  try {
    await api.client.patch(CONFIG_MAPS, source, change);
    await until(() => has(`${before}${certificate}`), 'the new one is there, too');
  } finally {
    await api.client.patch(CONFIG_MAPS, source, { data: { 'client-ca-file': before } });
  }
});

it('are made by one of two processes, also when the leader changes', async () => {
  const kubeconfig = await api.kubeconfigFor('slipway-controllers');
  const flags = { leaseSeconds: 2, renewDeadlineSeconds: 1, leaseRetrySeconds: 0.2 };
  const [one, other] = [
    await startControllers(kubeconfig, { flags }),
    await startControllers(kubeconfig, { flags }),
  ];
  running.push(one, other);
  const first = await whenWhole();
  const makers = [one, other].filter(({ lines }) => lines.join('').includes('made the authority'));
  expect(makers).toHaveLength(1);

  await makers[0]?.stop();
  await api.client.delete(SECRETS, { namespace, name: SERVING });

  const second = await whenWhole((now) => fingerprint(now) !== fingerprint(first.serving));
  expect(second.authority).toBe(first.authority);
});
