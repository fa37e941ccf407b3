/** The API key of a machine on its way to Temporal, at a server that accepts nothing else. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../tools/cluster/certificates';
import { readHostSettings } from '../../../workers/host/settings';
import { createLogger } from '../../../process/logging';
import { TemporalConnection } from '../../../process/temporal/connection';
import { connectionOptions } from '../../../process/temporal/connection-options';

jest.setTimeout(60_000);

const directory = mkdtempSync(join(tmpdir(), 'slipway-api-key-'));
const keyFile = join(directory, 'api-key');
const log = createLogger({ process: 'test', level: 'silent' });
let server: Http2SecureServer;
let seen: (string | undefined)[] = [];

beforeAll(async () => {
  const authority = await newAuthority('authority');
  const { certificate: cert, key } = await issueCertificate(authority, {
    subject: { commonName: 'temporal' },
    use: CertificateUse.SERVER,
    addresses: ['temporal'],
  });
  writeFileSync(join(directory, 'ca.crt'), authority.certificate);
  server = createSecureServer({ cert, key });
  server.on('stream', (stream, headers) => {
    seen.push(headers.authorization);
    const head = { ':status': 200, 'content-type': 'application/grpc' };
    stream.respond(head, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    // An empty message.
    stream.end(Buffer.alloc(5));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true, force: true });
});

it('is sent over TLS, and another one when its file has changed', async () => {
  writeFileSync(keyFile, 'first\n', { mode: 0o600 });
  const authorityFile = join(directory, 'ca.crt');
  const settings = readHostSettings({
    ...{ serverUrl: 'https://127.0.0.1:1', node: 'w-1', authorityFile },
    temporalAddress: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    temporalTlsCa: authorityFile,
    temporalTlsServerName: 'temporal',
    temporalApiKeyFile: keyFile,
  });
  let nowMs = 0;
  const link = await TemporalConnection.open(
    {
      address: settings.temporalAddress,
      namespace: settings.temporalNamespace,
      searchAttributes: [],
      read: () => connectionOptions(settings),
      connect: (target) => NativeConnection.connect(target),
      log,
      now: () => nowMs,
    },
    new AbortController().signal,
  );
  expect(new Set(seen)).toEqual(new Set(['Bearer first']));

  writeFileSync(keyFile, 'second\n');
  nowMs = 60_000;
  seen = [];
  await link.look();
  await link.workflowService.getSystemInfo({});

  expect(new Set(seen)).toEqual(new Set(['Bearer second']));
  await link.close();
});
