import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createApiClient, type ApiClient } from '../../../../tools/cluster/api-client';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../../tools/cluster/certificates';

const REINITIALIZING = { status: 429, headers: { 'retry-after': '0' } };
const BUDGET = { status: 429, headers: {} };
const WELL = { status: 200, headers: {} };

let server: Server;
let client: ApiClient;
let answers: (typeof WELL | typeof REINITIALIZING)[];
let asked: number;

beforeAll(async () => {
  const authority = await newAuthority('test authority');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: 'api' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  server = createServer({ cert: certificate, key }, (request, response) => {
    const answer = answers[Math.min(asked, answers.length - 1)] ?? WELL;
    asked += 1;
    const message = answer === WELL ? 'well' : 'storage is (re)initializing';
    request.resume();
    response.writeHead(answer.status, answer.headers).end(JSON.stringify({ message }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  client = createApiClient(`https://127.0.0.1:${port}`, authority.certificate);
});
afterAll(async () => {
  client.close();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  asked = 0;
});

test('what the server could not take yet is asked again when it says so', async () => {
  answers = [REINITIALIZING, REINITIALIZING, WELL];

  expect(await client.call('POST', '/x', { a: 1 })).toEqual({ message: 'well' });
  expect(asked).toBe(3);
});

test('a server that never takes it is asked eleven times, and its words are the error', async () => {
  answers = [REINITIALIZING];

  await expect(client.call('GET', '/x')).rejects.toThrow('GET /x: 429 storage is (re)initializing');
  expect(asked).toBe(11);
});

test('a refusal that names no time, as that of a budget, is final', async () => {
  answers = [BUDGET];

  await expect(client.call('POST', '/x')).rejects.toMatchObject({ status: 429 });
  expect(asked).toBe(1);
});

test('a caller that accepts any answer gets the first', async () => {
  answers = [REINITIALIZING, WELL];

  expect(await client.send('GET', '/x')).toMatchObject({ status: 429 });
  expect(asked).toBe(1);
});
