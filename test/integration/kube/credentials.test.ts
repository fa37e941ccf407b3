/** Users of kubeconfigs that only the full client understands, which takes seconds to load. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findEndpoint } from '../../../adapters/kube/credentials';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-kubeconfig-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function written(name: string, content: object): string {
  mkdirSync(join(directory, name));
  const file = join(directory, name, 'config');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

it('a user with a password in a list of kubeconfigs', async () => {
  const first = written('first', { 'current-context': 'main' });
  const second = written('second', {
    contexts: [{ name: 'main', context: { cluster: 'c', user: 'u' } }],
    clusters: [
      { name: 'c', cluster: { server: 'https://k:6443', 'certificate-authority': 'ca.crt' } },
    ],
    users: [{ name: 'u', user: { username: 'me', password: 'pw' } }],
  });
  writeFileSync(join(directory, 'second', 'ca.crt'), 'CA');

  const endpoint = await findEndpoint({ kubeconfig: [first, second].join(delimiter) });
  const credentials = await endpoint.read();

  expect(credentials.tls.ca).toBe('CA');
  const basic = Buffer.from('me:pw').toString('base64');
  expect(credentials.headers).toEqual({ authorization: `Basic ${basic}` });
});
