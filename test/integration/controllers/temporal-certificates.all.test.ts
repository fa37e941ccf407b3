/**
 * Mutual TLS to Temporal, as deploy/ has it: the controllers start with those settings, issue the certificates
 * with those rights, and find a Temporal server that runs with the configuration of deploy/temporal.
 */

import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { pino } from 'pino';
import { parse } from 'yaml';
import { SECRETS, type Secret } from '../../../adapters/kube/resources';
import { runControllers } from '../../../controllers/main';
import { controllerSettings } from '../../../controllers/settings';
import { certificateBlocks, isSignedBy } from '../../../core/certificates';
import { failureName } from '../../../core/errors';
import { ANNOTATION } from '../../../core/names';
import { connectionOptions } from '../../../process/temporal/connection-options';
import { newAuthority } from '../../../tools/cluster/certificates';
import { freePorts } from '../../../tools/processes/free-ports';
import { repositoryRoot } from '../../../tools/repository-root';
import { startTemporalOnPostgres, type TemporalOnPostgres } from '../../../tools/temporal-postgres';
import { takeApiServer, type TestApiServer } from '../crds/api-server';
import { until } from '../tools/until';
import { installRights, installTemporalRights } from './rights';

jest.setTimeout(300_000);

const SERVER_NAME = 'temporal-frontend.temporal';
const AUTHORITY = { namespace: 'slipway', name: 'slipway-temporal-ca' };
const CLIENT = { namespace: 'slipway', name: 'slipway-temporal-tls' };
const SERVER = { namespace: 'temporal', name: 'temporal-tls' };

const directory = mkdtempSync(join(tmpdir(), 'slipway-temporal-certificates-'));
const running: (() => Promise<void>)[] = [];
let api: TestApiServer;
let kubeconfig: string;

beforeAll(async () => {
  api = await takeApiServer();
  await installRights(api);
  await installTemporalRights(api);
  kubeconfig = await api.kubeconfigFor('slipway-controllers');
});
afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
  for (const key of [AUTHORITY, CLIENT, SERVER]) await api.client.delete(SECRETS, key);
});
afterAll(async () => {
  await api?.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** The settings of deploy/base, with the files of `directory`. */
function deployed(address: string): Readonly<Record<string, string>> {
  const file = join(repositoryRoot(), 'deploy', 'base', 'settings.yaml');
  const { data } = parse(readFileSync(file, 'utf8')) as { data: Record<string, string> };
  const here = Object.entries(data).map(([name, value]) => [
    name,
    value.replace('/etc/slipway', directory),
  ]);
  return {
    ...(Object.fromEntries(here) as Record<string, string>),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_TLS_SERVER_NAME: SERVER_NAME,
  };
}

async function startProcess(environment: Readonly<Record<string, string>>) {
  const [metricsPort = 0] = await freePorts(1);
  const stop = new AbortController();
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const settings = controllerSettings({ kubeconfig, metricsPort }, environment);
  const ended = runControllers(settings, stop.signal, { log });
  running.push(async () => {
    stop.abort();
    await ended;
  });
  const ready = async (): Promise<string> => {
    const reply = await fetch(`http://127.0.0.1:${metricsPort}/readyz`).catch(() => undefined);
    return reply === undefined ? 'not there yet' : `${reply.status} ${await reply.text()}`;
  };
  return { lines, ready };
}

async function secret(key: { readonly namespace: string; readonly name: string }) {
  try {
    return await api.client.get<Secret>(SECRETS, key);
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}

async function untilThere(key: typeof CLIENT): Promise<void> {
  await until(async () => (await secret(key)) !== undefined, `${key.name} is there`);
}

/** As the kubelet does. */
async function mount(key: typeof CLIENT, folder: string): Promise<void> {
  mkdirSync(join(directory, folder), { recursive: true });
  for (const [name, text] of Object.entries((await secret(key))?.data ?? {})) {
    writeFileSync(join(directory, folder, name), Buffer.from(text, 'base64'));
  }
}

const fileOf = (folder: string, name: string): string => join(directory, folder, name);
const pairOf = (folder: string) => ({
  certificate: fileOf(folder, 'tls.crt'),
  key: fileOf(folder, 'tls.key'),
});
const first = (folder: string): X509Certificate =>
  new X509Certificate(readFileSync(fileOf(folder, 'tls.crt')));

/** @param folder - with the client's certificate; undefined = none */
function connect(address: string, folder: string | undefined, authority: string) {
  const pair = folder === undefined ? undefined : pairOf(folder);
  const options = connectionOptions({
    ...{ temporalAddress: address, temporalTlsServerName: SERVER_NAME },
    ...{ temporalTlsCa: authority, temporalTlsCert: pair?.certificate, temporalTlsKey: pair?.key },
  });
  return Connection.connect({ ...options, connectTimeout: '2s' });
}

async function lets(...args: Parameters<typeof connect>): Promise<boolean> {
  const connection = await connect(...args).catch(() => undefined);
  await connection?.close();
  return connection !== undefined;
}

describe('with the settings of deploy/', () => {
  let temporal: TemporalOnPostgres | undefined;

  afterAll(async () => {
    await temporal?.stop();
  });

  it('processes and Temporal know each other, also after their authority was renewed', async () => {
    const [port = 0] = await freePorts(1);
    const before = await startProcess(deployed(`127.0.0.1:${port}`));
    await untilThere(SERVER);
    await untilThere(CLIENT);
    await until(async () => (await before.ready()).includes('cannot be read'), 'it waits');
    expect(before.lines.join('')).not.toContain('PRIVATE KEY');
    expect(before.lines.join('')).not.toContain('is forbidden');
    await mount(SERVER, 'temporal');
    await mount(CLIENT, 'client');
    temporal = await startTemporalOnPostgres({
      tls: {
        authority: fileOf('temporal', 'ca.crt'),
        server: pairOf('temporal'),
        client: pairOf('client'),
        serverName: SERVER_NAME,
      },
    });
    const { address } = temporal;

    const process = await startProcess(deployed(address));
    await until(async () => (await process.ready()).includes('cannot be read'), 'it waits');
    await mount(CLIENT, 'temporal-tls');
    await mount({ namespace: 'slipway', name: 'slipway-payload-keys' }, 'payload-keys');
    await until(async () => (await process.ready()).startsWith('200'), 'it is connected');

    const authority = fileOf('client', 'ca.crt');
    expect(await lets(address, 'client', authority)).toBe(true);
    expect(await lets(address, undefined, authority)).toBe(false);
    await api.client.patch(SECRETS, AUTHORITY, {
      metadata: { annotations: { [ANNOTATION.RENEW]: 'now' } },
    });
    const old = first('client');
    await until(async () => {
      await mount(CLIENT, 'temporal-tls');
      return first('temporal-tls').fingerprint256 !== old.fingerprint256;
    }, 'the client has another certificate');
    await until(
      async () => (await process.ready()).startsWith('200'),
      'the new certificate is good for the old authority',
    );
    await mount(SERVER, 'temporal');
    const [present = ''] = certificateBlocks(
      readFileSync(fileOf('temporal-tls', 'ca.crt'), 'utf8'),
    );
    expect(isSignedBy(first('temporal'), new X509Certificate(present))).toBe(true);
    writeFileSync(fileOf('client', 'present.crt'), present);
    await until(
      () => lets(address, 'temporal-tls', fileOf('client', 'present.crt')),
      'Temporal has its new certificate',
      120_000,
    );
    expect(await lets(address, 'client', authority)).toBe(true);
    expect(await process.ready()).toMatch(/^200/);
  });

  it('a certificate that a person brings for the processes stays, and none is issued', async () => {
    const { certificate, key } = await newAuthority('of a person');
    const data = Object.fromEntries(
      Object.entries({ 'tls.crt': certificate, 'tls.key': key, 'ca.crt': certificate }).map(
        ([field, text]) => [field, Buffer.from(text).toString('base64')],
      ),
    );
    const theirs = { metadata: CLIENT, type: 'kubernetes.io/tls', data };
    const { metadata } = await api.client.create(SECRETS, theirs);

    await startProcess(deployed('127.0.0.1:1'));
    await untilThere({ namespace: 'slipway', name: 'slipway-server-tls' });

    expect((await secret(CLIENT))?.metadata.resourceVersion).toBe(metadata.resourceVersion);
    expect([await secret(SERVER), await secret(AUTHORITY)]).toEqual([undefined, undefined]);
  });

  it('a certificate that a person brings for Temporal alone is reported', async () => {
    const { certificate } = await newAuthority('of a person');
    const data = { 'tls.crt': Buffer.from(certificate).toString('base64') };
    await api.client.create(SECRETS, { metadata: SERVER, data });

    const { lines } = await startProcess(deployed('127.0.0.1:1'));

    await until(
      () => Promise.resolve(lines.some((line) => line.includes('secret temporal/temporal-tls'))),
      'it is reported',
    );
    expect(lines.join('')).toContain('bring secret slipway/slipway-temporal-tls, too');
    expect(await secret(CLIENT)).toBeUndefined();
  });

  it('nothing is issued where TLS is off, and the process says so', async () => {
    const environment = { ...deployed('127.0.0.1:1'), TEMPORAL_TLS: 'false' };
    const { lines } = await startProcess(environment);
    await untilThere({ namespace: 'slipway', name: 'slipway-server-tls' });

    expect(lines.join('')).toContain('the connection is not encrypted');
    expect([await secret(CLIENT), await secret(AUTHORITY)]).toEqual([undefined, undefined]);
  });
});
