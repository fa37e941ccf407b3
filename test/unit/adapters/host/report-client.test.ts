/** Answers of servers of any version to a host's report. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createReportClient } from '../../../../adapters/host';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../../tools/cluster/certificates';

const REPORT = { config: 'rendered-worker-1', findings: [], count: 0, repairs: [], forced: false };
const ANSWER = {
  drift: { mode: 'Repair', limit: 3, intervalSeconds: 3600 },
  disruptionPolicies: {},
  mayDisturb: false,
};

let directory: string;
let server: Server;
let answer: object;
let files: Readonly<Record<'certificateFile' | 'keyFile' | 'authorityFile', string>>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-report-'));
  const authority = await newAuthority('report-client');
  const { certificate, key } = await issueCertificate(authority, {
    subject: { commonName: 'server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  files = {
    certificateFile: file('tls.crt', certificate),
    keyFile: file('tls.key', key),
    authorityFile: file('ca.crt', authority.certificate),
  };
  server = createServer({ cert: certificate, key }, (_request, response) => {
    response.end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(directory, { recursive: true, force: true });
});

const report = () => {
  const { port } = server.address() as AddressInfo;
  return createReportClient({ url: `https://127.0.0.1:${port}`, ...files }).report(REPORT);
};

it.each([
  ['its turn', { mayDisturb: true }, { mayDisturb: true }],
  ['another node’s turn', { mayDisturb: false }, { mayDisturb: false }],
  ['more than a host knows of', { later: 1 }, {}],
])('takes an answer that says %s', async (_what, said, more) => {
  answer = { ...ANSWER, ...said };

  expect(await report()).toEqual({ answer: { ...ANSWER, ...more }, orderKeys: [] });
});

it('takes the authorities of the server beside the answer', async () => {
  answer = { ...ANSWER, serverAuthority: 'PEM' };

  expect(await report()).toMatchObject({ answer: ANSWER, serverAuthority: 'PEM' });
});

it('takes what rolls the keys of orders, as far as it can be read', async () => {
  const statement = { text: '{}', signature: 'AAAA', keyId: 'k1' };
  answer = { ...ANSWER, orderKeys: [statement, { text: 1 }, 'x'] };

  expect(await report()).toMatchObject({ answer: ANSWER, orderKeys: [statement] });

  answer = { ...ANSWER, orderKeys: 'x' };
  expect(await report()).toMatchObject({ orderKeys: [] });
});

it('takes no answer with an invalid turn', async () => {
  answer = { ...ANSWER, mayDisturb: 'yes' };

  await expect(report()).rejects.toMatchObject({ name: 'ConfigFetchFailed' });
});
