/** Join tokens from the command line to the server, through a real API server with its rights. */

import {
  createJoinToken,
  listJoinTokens,
  makeJoinToken,
  revokeJoinToken,
} from '../../../cli/commands/join-token';
import { printPointerConfig } from '../../../cli/commands/pointer-config';
import { kubeCluster } from '../../../cli/kube-cluster';
import type { CliContext } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import {
  JoinTokenStore,
  watchJoinTokens,
  writeJoinTokenUse,
} from '../../../adapters/kube/join-tokens';
import { SECRETS } from '../../../adapters/kube/resources';
import { bearerToken } from '../../../core/join';
import { FIELD_MANAGER, JOIN_TOKEN_NAMESPACE, MCO_GROUP, MCO_VERSION } from '../../../core/names';
import { createJoinGate, type CountingJoinGate } from '../../../server/join-gate';
import { createJoinUses } from '../../../server/join-uses';
import { applyManifest, startKubeFixture, type KubeFixture } from './fixture';

jest.setTimeout(120_000);

let kube: KubeFixture;
let issuer: KubeClient;
let server: KubeClient;
let gate: CountingJoinGate;
let tokens: ReturnType<typeof watchJoinTokens>;
let uses: ReturnType<typeof createJoinUses>;
const stopping = new AbortController();
let watching: Promise<void> = Promise.resolve();

beforeAll(async () => {
  kube = await startKubeFixture();
  const clientOf = async (commonName: string, organizations: readonly string[] = []) =>
    connectKube({
      kubeconfig: await kube.cluster.kubeconfigFor({ commonName, organizations }),
      userAgent: 'slipway-tests',
      log: kube.log,
    });
  issuer = await clientOf('ada', ['slipway-join-tokens']);
  server = await clientOf('slipway-server');
  for (const name of ['worker', 'infra']) {
    await applyManifest(kube.admin, {
      apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
      kind: 'MachineConfigPool',
      metadata: { name },
      spec: {
        machineConfigSelector: { matchLabels: { [`${MCO_GROUP}/role`]: name } },
        nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
      },
    });
  }
  tokens = watchJoinTokens(kube.log);
  uses = createJoinUses({
    write: (id, at) => writeJoinTokenUse(server, FIELD_MANAGER.SERVER, { id, at }),
    log: kube.log,
    now: Date.now,
  });
  gate = createJoinGate({
    mode: 'tokens',
    allowedNetworks: ['127.0.0.0/8'],
    tokens,
    now: Date.now,
    used: (id) => uses.note(id),
  });
});

afterAll(async () => {
  await uses?.stop();
  stopping.abort();
  await watching;
  issuer?.close();
  server?.close();
  await kube?.stop();
});

/** The command line of a member of the group, at this time. */
function issuerContext(now: () => number = Date.now) {
  const out: string[] = [];
  const err: string[] = [];
  const sink = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const context: Partial<CliContext> = {
    terminal: openTerminal({ out: sink(out), err: sink(err) }, { color: false, env: {} }),
    now,
    cluster: async () => kubeCluster(issuer, kube.log),
  };
  return { context: context as CliContext, out: () => out.join(''), err: () => err.join('') };
}

const ask = (token: string, pool = 'worker') =>
  gate.ask({ pool, authorization: `Bearer ${token}`, address: '::ffff:127.0.0.1' });

/** Resolves when the watch has shown the wanted state of this token. */
function whenSeen(id: string, isAsWanted: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    if (isAsWanted()) {
      resolve();
      return;
    }
    const stop = tokens.subscribe((changed) => {
      if (changed !== id || !isAsWanted()) return;
      stop();
      resolve();
    });
  });
}

async function createdToken(
  pool = 'worker',
): Promise<{ readonly id: string; readonly text: string }> {
  const { context, out } = issuerContext();
  await createJoinToken(context, { pool, ttlSeconds: 3600, description: 'rack 4' }, 'table');
  const text = out().trim();
  const id = bearerToken(`Bearer ${text}`)?.id ?? '';
  return { id, text };
}

it('asks for patience until the tokens are seen', async () => {
  const { id, text } = await createdToken();
  expect(await ask(text)).toMatchObject({ admitted: false, status: 503 });

  watching = tokens.run(server, stopping.signal);
  await tokens.synced;

  expect(await ask(text)).toEqual({ admitted: true, tokenId: id });
});

it('admits with a new token within one event of the watch, until it is revoked', async () => {
  const { id, text } = await createdToken();
  await whenSeen(id, () => tokens.find(id) !== undefined);

  expect(await ask(text)).toEqual({ admitted: true, tokenId: id });
  expect(await ask(text, 'infra')).toMatchObject({ admitted: false, status: 401 });

  const { context, err } = issuerContext();
  await revokeJoinToken(context, id);
  await whenSeen(id, () => tokens.find(id) === undefined);

  expect(err()).toBe(`join token ${id} revoked\n`);
  expect(await ask(text)).toEqual({
    admitted: false,
    status: 401,
    reason: `unknown join token ${id}`,
  });
  await expect(revokeJoinToken(context, id)).rejects.toThrow(`join token ${id} not found`);
});

it('writes the last use down, for the list', async () => {
  const { id, text } = await createdToken('infra');
  await whenSeen(id, () => tokens.find(id) !== undefined);
  const before = issuerContext();
  await listJoinTokens(before.context, 'table');
  const lineOf = (table: string) => table.split('\n').find((line) => line.startsWith(id)) ?? '';
  expect(lineOf(before.out())).toMatch(/ infra +\S+ ago +in \S+ +never +Valid$/);

  await ask(text, 'infra');
  await whenSeen(id, () => tokens.find(id)?.lastUsedAt !== undefined);

  const after = issuerContext();
  await listJoinTokens(after.context, 'table');
  expect(lineOf(after.out())).toMatch(/ infra +\S+ ago +in \S+ +\S+ ago +Valid$/);
  expect(after.out()).not.toContain(text.slice(-43));
});

it('stores the secret nowhere', async () => {
  const { id, text } = await createdToken();
  const secret = text.slice(-43);

  const stored = await kube.admin.get(SECRETS, {
    name: `join-token-${id}`,
    namespace: JOIN_TOKEN_NAMESPACE,
  });

  const values = Object.values(stored.data ?? {}).map((value) =>
    Buffer.from(value, 'base64').toString(),
  );
  expect(values).toContain('rack 4');
  expect(JSON.stringify(stored) + values.join()).not.toContain(secret);
  expect(JSON.stringify(kube.log.lines)).not.toContain(secret);
});

it('keeps the server from making tokens, changing them and reading other Secrets', async () => {
  const { id } = await createdToken();
  const key = { name: `join-token-${id}`, namespace: JOIN_TOKEN_NAMESPACE };
  const { context } = issuerContext();
  const longer = Buffer.from('2999-01-01T00:00:00Z').toString('base64');
  const asServer = { ...context, cluster: async () => kubeCluster(server, kube.log) };

  await expect(server.patch(SECRETS, key, { data: { expiresAt: longer } })).rejects.toMatchObject({
    name: 'ApiRefused',
    message: expect.stringContaining('immutable') as string,
  });
  await expect(server.patch(SECRETS, key, { immutable: false })).rejects.toMatchObject({
    name: 'ApiRefused',
  });
  await expect(makeJoinToken(asServer, { pool: 'worker' })).rejects.toMatchObject({
    name: 'ApiForbidden',
  });
  await expect(revokeJoinToken(asServer, id)).rejects.toMatchObject({ name: 'ApiForbidden' });
  await expect(server.list(SECRETS, { namespace: 'slipway' })).rejects.toMatchObject({
    name: 'ApiForbidden',
  });
});

it('forgets tokens a day after their expiry when the next one is made', async () => {
  const long = issuerContext(() => Date.now() - 48 * 3_600_000);
  await createJoinToken(long.context, { pool: 'worker', ttlSeconds: 3600 }, 'json');
  const short = issuerContext(() => Date.now() - 2 * 3_600_000);
  await createJoinToken(short.context, { pool: 'worker', ttlSeconds: 3600 }, 'json');
  const idIn = (text: string) => (JSON.parse(text) as { id: string }).id;

  await createdToken();

  const ids = (await new JoinTokenStore(issuer, FIELD_MANAGER.CLI).list()).map(({ id }) => id);
  expect(ids).not.toContain(idIn(long.out()));
  expect(ids).toContain(idIn(short.out()));
});

it('admits no machine with a Secret that is no token, and names it', async () => {
  await kube.admin.create(SECRETS, {
    metadata: {
      name: 'join-token-ffffffffff',
      namespace: JOIN_TOKEN_NAMESPACE,
      labels: { 'slipway.dev/join-pool': 'worker' },
    },
    type: 'slipway.dev/join-token',
    data: { pool: Buffer.from('worker').toString('base64') },
  });
  const isNamed = () =>
    kube.log.lines.some(({ fields }) => JSON.stringify(fields).includes('join-token-ffffffffff'));
  await whenSeen('ffffffffff', isNamed);

  const { context, out } = issuerContext();
  await listJoinTokens(context, 'wide');

  expect(tokens.find('ffffffffff')).toBeUndefined();
  expect(out()).toMatch(/^ffffffffff .* Unusable +hash is not a SHA-256 in hex$/m);
  await revokeJoinToken(context, 'ffffffffff');
});

it('prints a pointer config for a cluster whose ControllerConfig says enough', async () => {
  await applyManifest(kube.admin, {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'ControllerConfig',
    metadata: { name: 'machine-config-controller' },
    spec: {
      rootCAData: Buffer.from(kube.cluster.ca).toString('base64'),
      infra: { status: { apiServerInternalURI: 'https://api-int.example.com:6443' } },
    },
  });
  const { context, out, err } = issuerContext();

  await printPointerConfig(context, 'infra', {});

  const { ignition } = JSON.parse(out()) as {
    ignition: { config: { merge: { source: string; httpHeaders: { value: string }[] }[] } };
  };
  const [merge] = ignition.config.merge;
  const token = merge?.httpHeaders[0]?.value.replace('Bearer ', '') ?? '';
  const id = bearerToken(`Bearer ${token}`)?.id ?? '';
  await whenSeen(id, () => tokens.find(id) !== undefined);
  expect(merge?.source).toBe('https://api-int.example.com:22623/config/infra');
  expect(await ask(token, 'infra')).toEqual({ admitted: true, tokenId: id });
  expect(err()).toContain(`join token ${id} lets machines into pool infra until `);
  expect(err()).not.toContain(token);
});
