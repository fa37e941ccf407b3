import { copyFile, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { generateKeyPairSync } from 'node:crypto';
import { readCanonical } from '../../../host/records/configs';
import type { CredentialFiles } from '../../../tools/cluster';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import type { ConfigReference } from '../../../workflows/contracts/host';
import { eventually } from '../kube/fixture';
import { clientWith, startEndpoint, type EndpointFixture } from './endpoint-fixture';

jest.setTimeout(240_000);

const SPEC = {
  osImageURL: 'quay.io/os@sha256:1',
  config: {
    ignition: { version: '3.5.0' },
    storage: { files: [{ path: '/etc/a', contents: { source: 'data:,hello' } }] },
  },
};

let fixture: EndpointFixture;
let worker: ConfigReference;

beforeAll(async () => {
  fixture = await startEndpoint(['worker-0']);
  worker = await fixture.addConfig('rendered-worker-1', 'worker', SPEC);
  await fixture.addConfig('rendered-master-1', 'master', SPEC);
  await fixture.setTarget('worker', 'rendered-worker-1');
});
afterAll(() => fixture?.stop());

describe('the host endpoint over mutual TLS', () => {
  it('gives a node the config of its own pool, byte for byte', async () => {
    const client = await fixture.clientOf('worker-0');

    const bytes = await client.fetch('rendered-worker-1');

    expect(readCanonical(bytes, worker).spec.osImageURL).toBe(SPEC.osImageURL);
    expect(() => readCanonical(bytes, { ...worker, digest: '0'.repeat(64) })).toThrow(
      /ordered was 000000000000/,
    );
  });

  it('refuses a node an earlier config of its own pool, as outdated', async () => {
    await fixture.addConfig('rendered-worker-0', 'worker', SPEC);
    const client = await fixture.clientOf('worker-0');

    await expect(client.fetch('rendered-worker-0')).rejects.toMatchObject({
      name: 'OrderOutdated',
      message: expect.stringContaining('is not the target of pool worker') as string,
    });
  });

  it('refuses a node the config of another pool', async () => {
    const client = await fixture.clientOf('worker-0');

    await expect(client.fetch('rendered-master-1')).rejects.toMatchObject({
      name: 'ConfigForbidden',
      message: expect.stringContaining(
        'config rendered-master-1 belongs to pool master, node worker-0 to pool worker',
      ) as string,
    });
  });

  it('refuses the certificate of somebody who is no node', async () => {
    const { cluster } = fixture.kube;
    const files = await cluster.serverCertificate('not-a-node', ['127.0.0.1']);
    const stranger = await cluster.nodeCredentials('stranger');

    await expect(
      clientWith(fixture.server.hostUrl, stranger).fetch('rendered-worker-1'),
    ).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
      message: expect.stringContaining('node stranger is not known') as string,
    });
    // A serving certificate has the right authority and the wrong use.
    await expect(
      clientWith(fixture.server.hostUrl, files).fetch('rendered-worker-1'),
    ).rejects.toMatchObject({
      name: expect.stringMatching(/ConfigFetchFailed|ConfigForbidden/) as string,
    });
  });

  it('ends the handshake without a client certificate', async () => {
    const { hostname, port } = new URL(fixture.server.hostUrl);
    const ca = await readFile(fixture.kube.cluster.caFile);

    const error = await new Promise<Error>((resolve, reject) => {
      const socket: TLSSocket = connect({ host: hostname, port: Number(port), ca }, () => {
        socket.write('GET /host/configs/rendered-worker-1 HTTP/1.1\r\nhost: a\r\n\r\n');
      });
      socket.on('data', () => reject(new Error('the server answered')));
      socket.on('error', resolve);
      socket.on('close', () => resolve(new Error('closed')));
    });

    expect(error.message).toMatch(/certificate|closed|reset/i);
  });

  it('refuses a certificate of another authority, and a host refuses such a server', async () => {
    const impostor = await nodeOfAnotherAuthority('worker-0');
    const right = { ...impostor, caFile: fixture.kube.cluster.caFile };

    await expect(
      clientWith(fixture.server.hostUrl, right).fetch('rendered-worker-1'),
    ).rejects.toMatchObject({ name: 'ConfigFetchFailed' });
    const mine = await fixture.credentialsOf('worker-0');
    const fooled = { ...mine, caFile: impostor.caFile };
    await expect(
      clientWith(fixture.server.hostUrl, fooled).fetch('rendered-worker-1'),
    ).rejects.toMatchObject({ name: 'ConfigFetchFailed' });
  });

  it('serves what it has while the API server is away', async () => {
    const client = await fixture.clientOf('worker-0');
    await client.fetch('rendered-worker-1');
    const { cluster } = fixture.kube;
    await cluster.killApiServer();
    try {
      expect(readCanonical(await client.fetch('rendered-worker-1'), worker).reference).toEqual(
        worker,
      );
      await expect(client.fetch('rendered-worker-2')).rejects.toMatchObject({
        name: 'ConfigFetchFailed',
        details: { status: 503 },
      });
    } finally {
      await cluster.startApiServer();
    }
  });

  it('takes a renewed certificate without a restart', async () => {
    const { cluster } = fixture.kube;
    const before = await servedSerial();
    const renewed = await cluster.serverCertificate('renewed', ['127.0.0.1']);
    await copyFile(renewed.keyFile, fixture.serverFiles.keyFile);
    await copyFile(renewed.certFile, fixture.serverFiles.certFile);

    await eventually(async () => {
      expect(await servedSerial()).not.toBe(before);
    });
    const client = await fixture.clientOf('worker-0');
    expect((await client.fetch('rendered-worker-1')).length).toBeGreaterThan(0);
  });

  it('keeps the old certificate when the new files do not fit together', async () => {
    const before = await servedSerial();
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const kept = await readFile(fixture.serverFiles.keyFile);
    await writeFile(
      fixture.serverFiles.keyFile,
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
    );
    const client = await fixture.clientOf('worker-0');

    expect((await client.fetch('rendered-worker-1')).length).toBeGreaterThan(0);
    expect(await servedSerial()).toBe(before);
    await writeFile(fixture.serverFiles.keyFile, kept);
  });
});

async function nodeOfAnotherAuthority(name: string): Promise<CredentialFiles> {
  const authority = await newAuthority('another-authority');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: `system:node:${name}`, organizations: ['system:nodes'] },
    use: CertificateUse.CLIENT,
  });
  const directory = await mkdtemp(join(fixture.kube.cluster.directory, 'another-authority-'));
  const files = {
    certFile: join(directory, 'node.crt'),
    keyFile: join(directory, 'node.key'),
    caFile: join(directory, 'ca.crt'),
  };
  await writeFile(files.certFile, certificate);
  await writeFile(files.keyFile, key);
  await writeFile(files.caFile, authority.certificate);
  return files;
}

async function servedSerial(): Promise<string> {
  const { hostname, port } = new URL(fixture.server.hostUrl);
  const files = await fixture.credentialsOf('worker-0');
  const [ca, cert, key] = await Promise.all(
    [files.caFile, files.certFile, files.keyFile].map((file) => readFile(join(file))),
  );
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: hostname, port: Number(port), ...(ca && cert && key ? { ca, cert, key } : {}) },
      () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.end();
      },
    );
    socket.on('error', reject);
  });
}
