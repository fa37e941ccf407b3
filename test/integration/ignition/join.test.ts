/**
 * A machine joins: the real engine fetches its first config over TLS, with token and authority from a pointer
 * config, and writes it.
 */

import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { FIRST_BOOT_FILE } from '../../../core/first-boot';
import { newJoinToken, pointerIgnition } from '../../../core/join';
import { rfc3339 } from '../../../core/rfc3339';
import { buildIgnition } from '../../../server/ignition/app';
import { prepareNow } from '../../../server/ignition/prepare';
import { createShelf } from '../../../server/ignition/shelf';
import { fixedSource } from '../../unit/server/ignition/fixed-source';
import { createJoinGate } from '../../../server/join-gate';
import {
  CertificateUse,
  type Credentials,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { createEngine } from '../../../tools/ignition/engine';
import { renderedConfig, writeWithHostWorker } from './host-transaction';
import { applyPresets, describeTree, makeMachineTree } from './machine-tree';
import { FACTS, renderedPool } from './pools';
import { differences } from './trees';

// The engine may have to be built.
jest.setTimeout(15 * 60_000);

const POOL = 'worker';
const machineConfig = renderedPool(POOL, [POOL]);

let work: string;
let authority: Credentials;
let token: string;
let server: ReturnType<typeof buildIgnition>['app'];
const versions: string[] = [];

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'slipway-join-'));
  // The engine writes the keys of a user as that user.
  await chmod(work, 0o755);
  authority = await newAuthority('root of the cluster');
  const made = newJoinToken(randomBytes);
  token = made.text;
  server = await listen(made);
});

afterAll(async () => {
  await server.close();
  await rm(work, { recursive: true });
});

async function listen({ id, hash }: ReturnType<typeof newJoinToken>) {
  const now = Date.now();
  const record = {
    ...{ id, hash, pool: POOL },
    createdAt: rfc3339(now),
    expiresAt: rfc3339(now + 3_600_000),
  };
  const { certificate: cert, key } = await issueCertificate(authority, {
    subject: { commonName: 'machine-config-server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  const prepare = async (...[job]: Parameters<typeof prepareNow>) => prepareNow(job);
  const { app } = buildIgnition({
    source: fixedSource([{ pool: POOL, machineConfig, facts: FACTS }]),
    shelf: createShelf({
      preparer: { prepare, close: () => Promise.resolve() },
      maxBytes: 64 * 1024 * 1024,
    }),
    gate: createJoinGate({
      mode: 'tokens',
      allowedNetworks: [],
      tokens: { isSynced: true, find: (wanted) => (wanted === id ? record : undefined) },
      now: () => Date.now(),
    }),
    events: {
      sent: (version) => versions.push(version),
      missed: () => undefined,
      substituted: () => undefined,
      dropped: () => undefined,
      answered: () => undefined,
    },
    logger: pino({ level: 'silent' }),
    limits: { maxConnections: 10, maxConnectionsPerAddress: 10 },
    tls: { cert, key },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return app;
}

function pointer(more: { readonly token?: string; readonly authority?: string } = {}): object {
  const { ignition, ...rest } = pointerIgnition({
    serverUrl: `https://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    pool: POOL,
    authority: authority.certificate,
    token,
    ...more,
  });
  // Otherwise the engine retries an untrusted server for ever.
  return { ...rest, ignition: { ...(ignition as object), timeouts: { httpTotal: 5 } } };
}

const engineOf = (machine: string) => createEngine({ work: join(work, `${machine}-engine`) });

describe('a machine that joins', () => {
  it('has on its disk what the host worker writes for the config of the pool', async () => {
    const [root, ours] = [join(work, 'machine'), join(work, 'ours')];
    await makeMachineTree(root, 'coreos');
    await makeMachineTree(ours, 'coreos');
    const engine = await engineOf('machine');

    await engine.fetch(pointer());
    await engine.writeFiles(root);
    await applyPresets(root);
    await writeWithHostWorker(
      ours,
      renderedConfig('rendered', machineConfig.spec.config as object),
    );

    const added = [...Object.values(FIRST_BOOT_FILE), '/etc/docker/certs.d'];
    const found = differences(await describeTree(root), await describeTree(ours));
    expect(found.filter(({ path }) => !added.some((own) => isPartOf(path, own)))).toEqual([]);
    expect(versions).toEqual(['3.5']);
  });

  it('knows its name and the remaining steps after Ignition', async () => {
    const read = async (path: string): Promise<unknown> =>
      JSON.parse(await readFile(join(work, 'machine', path), 'utf8'));
    const { name } = machineConfig.metadata;

    expect(await read(FIRST_BOOT_FILE.NODE_ANNOTATIONS)).toMatchObject({
      'machineconfiguration.openshift.io/currentConfig': name,
      'machineconfiguration.openshift.io/desiredConfig': name,
    });
    expect(await read(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG)).toMatchObject({
      metadata: { name },
      spec: { osImageURL: machineConfig.spec.osImageURL },
    });
  });

  it.each([
    ['a wrong token', () => ({ token: newJoinToken(randomBytes).text }), /Unauthorized/],
    ['no token', () => ({ token: '' }), /Unauthorized/],
  ])('gets nothing with %s', async (_name, more, refusal) => {
    const engine = await engineOf('stranger');

    await expect(engine.fetch(pointer(more()))).rejects.toThrow(refusal);
  });

  it('believes no server of another authority', async () => {
    const other = await newAuthority('somebody else');
    const engine = await engineOf('careful');

    await expect(engine.fetch(pointer({ authority: other.certificate }))).rejects.toThrow(
      /certificate signed by unknown authority/,
    );
  });
});

/** Whether a path equals the other one, or is below or above it. */
function isPartOf(path: string, own: string): boolean {
  return path === own || path.startsWith(`${own}/`) || own.startsWith(`${path}/`);
}
