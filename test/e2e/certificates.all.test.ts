/** The certificates of the server are renewed while configs roll through a pool. */

import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { createConfigClient } from '../../adapters/host';
import { certificateBlocks } from '../../core/certificates';
import { ANNOTATION } from '../../core/names';
import { CertificateUse, issueCertificate, newAuthority } from '../../tools/cluster/certificates';
import { machineConfig, plainFile } from './support/configs';
import { cordonsOf, markOf, rebootsOf } from './support/judgements';
import {
  CURRENT_CONFIG,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const SECRETS = '/api/v1/namespaces/slipway/secrets';
const AUTHORITY = `${SECRETS}/slipway-server-ca`;
const SERVING = `${SECRETS}/slipway-server-tls`;
const LEARNED = 'var/lib/slipway/server-authority.crt';
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { [POOL]: 6 },
    maxUnavailable: 2,
    policy: { canary: { nodes: 1 }, verify: { readySeconds: 1 } },
    workloads: [],
    issuedCertificates: true,
  });
}, START_MS);

afterAll(() => world?.stop(), STOP_MS);

async function eventually(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`never so: ${what}`);
    await delay(LOOK_MS);
  }
}

/** What the running server shows. */
function shown(): Promise<X509Certificate> {
  const { hostname: host, port } = new URL(world.stack.product.hostEndpoint);
  return new Promise((resolve, reject) => {
    // It is only looked at.
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw);
      socket.destroy();
      resolve(certificate);
    });
    socket.on('error', reject);
  });
}

interface Stored {
  readonly data: Readonly<Record<string, string>>;
}

async function stored(path: string, field: string): Promise<string> {
  const { data } = await world.api.call<Stored>('GET', path);
  return Buffer.from(data[field] ?? '', 'base64').toString();
}

async function renew(path: string): Promise<void> {
  const annotations = { [ANNOTATION.RENEW]: 'now' };
  await world.api.call('PATCH', path, { metadata: { annotations } });
}

/** Until the server shows a certificate of the present authority. */
async function served(after: X509Certificate): Promise<X509Certificate> {
  let now = after;
  await eventually('the server shows another certificate of the present authority', async () => {
    now = await shown();
    const authority = new X509Certificate(await stored(AUTHORITY, 'tls.crt'));
    return now.fingerprint256 !== after.fingerprint256 && now.verify(authority.publicKey);
  });
  return now;
}

const countUpdated = (config: string) =>
  world.workers.filter((name) => world.node(name).annotations[CURRENT_CONFIG] === config).length;

const learnedBy = (node: string): string => {
  const file = join(world.stack.hostRoot(node), LEARNED);
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
};

it(
  'authority and certificate are renewed in the middle of a rollout, which goes on',
  async () => {
    const before = await shown();
    const first = await stored(AUTHORITY, 'tls.crt');
    const config = await world.roll(
      machineConfig('50-story', { kernelArguments: ['nosmt'], files: [plainFile('/etc/a', '1')] }),
    );
    await world.until('the first node is updated', () => countUpdated(config) >= 1);

    await renew(AUTHORITY);
    const renewed = await served(before);
    expect(countUpdated(config)).toBeLessThan(world.workers.length);
    await renew(SERVING);
    await served(renewed);

    await world.allUpdatedTo(config);
    const second = await stored(AUTHORITY, 'tls.crt');
    expect(second).not.toBe(first);
    expect(certificateBlocks(await stored(SERVING, 'ca.crt'))).toHaveLength(2);
    // The first hosts were updated before. They report again within an hour, or when they start.
    await world.stack.product.kill(`host-worker/${POOL}`);
    await world.stack.product.restartHosts(POOL);
    await eventually('every host has learned the new authority', () =>
      world.workers.every((node) => learnedBy(node).includes(second)),
    );
  },
  STORY_MS,
);

it(
  'the old authority is gone, and hosts that were set up with it are updated',
  async () => {
    const before = await shown();
    // As when it has ended.
    await world.api.call('PATCH', AUTHORITY, { data: { 'previous.crt': null, 'links.crt': null } });
    await served(before);
    const text = await stored(SERVING, 'tls.crt');
    expect(certificateBlocks(text)).toHaveLength(1);

    const config = await world.roll(
      machineConfig('50-story', { kernelArguments: ['nosmt'], files: [plainFile('/etc/a', '2')] }),
    );

    await world.allUpdatedTo(config);
  },
  STORY_MS,
);

it(
  'a renewal alone takes no node out of service',
  async () => {
    const since = markOf(world.record);
    const before = await shown();

    await renew(AUTHORITY);
    await served(before);

    expect(cordonsOf(world.record, since)).toEqual([]);
    expect(world.workers.flatMap((node) => rebootsOf(world.record, node, since))).toEqual([]);
  },
  STORY_MS,
);

it(
  'a kubelet with a certificate of a new authority of the cluster gets in, without a restart',
  async () => {
    const { cluster, product } = world.stack;
    const published =
      '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
    const { data } = await world.api.call<Stored>('GET', published);
    const authority = await newAuthority('of new kubelets');
    const { certificate, key } = await issueCertificate(authority, {
      subject: { commonName: 'system:node:worker-0', organizations: ['system:nodes'] },
      use: CertificateUse.CLIENT,
    });
    const place = (name: string) => join(world.stack.directory, name);
    writeFileSync(place('new-kubelet.crt'), certificate);
    writeFileSync(place('new-kubelet.key'), key, { mode: 0o600 });
    writeFileSync(place('server-ca.crt'), await stored(SERVING, 'ca.crt'));
    const client = createConfigClient({
      url: product.hostEndpoint,
      certificateFile: place('new-kubelet.crt'),
      keyFile: place('new-kubelet.key'),
      authorityFile: place('server-ca.crt'),
    });
    const pid = product.pid('server');
    await expect(client.fetch(world.target())).rejects.toMatchObject({ name: 'ConfigFetchFailed' });

    const both = `${data['client-ca-file'] ?? ''}${authority.certificate}`;
    await cluster.admin.call('PATCH', published, { data: { 'client-ca-file': both } });

    await eventually('the server accepts it', () =>
      client.fetch(world.target()).then(
        ({ length }) => length > 0,
        () => false,
      ),
    );
    expect(product.pid('server')).toBe(pid);
  },
  STORY_MS,
);
