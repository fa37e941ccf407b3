/** Two configs with an OS image each, and a file that distinguishes them. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aConfig, aFile, type TestHost } from './a-host';

export const OLD = aConfig('rendered-worker-old', {
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'old')] } },
});
export const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});

export function motdOf({ root }: TestHost): string {
  return readFileSync(join(root, 'etc/motd'), 'utf8');
}
