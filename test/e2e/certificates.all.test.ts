/** The certificates of the server are renewed while configs roll through a pool. */

import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { certificateBlocks } from '../../core/certificates';
import { ANNOTATION } from '../../core/names';
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
