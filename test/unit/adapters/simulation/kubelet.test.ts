import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import {
  createSimulatedKubelet,
  type SimulatedKubelet,
} from '../../../../adapters/simulation/kubelet';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../../tools/cluster/certificates';

const NODE = { commonName: 'system:node:n1', organizations: ['system:nodes'] };

interface Seen {
  readonly who: string;
  readonly what: string;
  readonly type: string | undefined;
  readonly body: unknown;
}

let directory: string;
let server: Server;
let kubelet: SimulatedKubelet;
let answer: number;
const seen: Seen[] = [];

beforeAll(async () => {
  const authority = await newAuthority('test authority');
  const [forServer, forNode] = await Promise.all([
    issueCertificate(authority, {
      subject: { commonName: 'api' },
      use: CertificateUse.SERVER,
      addresses: ['127.0.0.1'],
    }),
    issueCertificate(authority, { subject: NODE, use: CertificateUse.CLIENT }),
  ]);
  const ca = authority.certificate;
  server = createServer(
    { cert: forServer.certificate, key: forServer.key, ca, requestCert: true },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen.push({
          who: String((request.socket as TLSSocket).getPeerCertificate().subject.CN),
          what: `${request.method} ${request.url}`,
          type: request.headers['content-type'],
          body: JSON.parse(Buffer.concat(chunks).toString('utf8')),
        });
        response.writeHead(answer).end('{}');
      });
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  directory = await mkdtemp(join(tmpdir(), 'slipway-kubelet-'));
  const put = async (name: string, text: string): Promise<string> => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  kubelet = createSimulatedKubelet({
    node: 'n1',
    apiServer: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificateFile: await put('cert.pem', forNode.certificate),
    keyFile: await put('key.pem', forNode.key),
    authorityFile: await put('ca.pem', ca),
    now: () => '2026-01-01T00:00:00Z',
  });
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

beforeEach(() => {
  answer = 200;
  seen.length = 0;
});

it('patches the status of its own node with the certificate of the node', async () => {
  await kubelet.reportUp('boot-2');

  expect(seen).toEqual([
    {
      who: 'system:node:n1',
      what: 'PATCH /api/v1/nodes/n1/status',
      type: 'application/strategic-merge-patch+json',
      body: {
        status: {
          conditions: [expect.objectContaining({ type: 'Ready', status: 'True' })],
          nodeInfo: { bootID: 'boot-2', osImage: 'Simulated host (Slipway)' },
        },
      },
    },
  ]);
});

it('names its node when the API server refuses', async () => {
  answer = 403;

  await expect(kubelet.reportDown()).rejects.toMatchObject({
    name: 'ApiUnavailable',
    message: 'patch status of node n1: answer 403',
  });
});
