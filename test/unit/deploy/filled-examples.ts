/** The manifests of `deploy/examples` with the values that their comments ask for. */

import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PLACEHOLDER } from '../../../core/machine-config/admission-placeholders';
import { repositoryRoot } from '../../../tools/repository-root';

export const SAMPLES = join(repositoryRoot(), 'deploy', 'samples');
export const EXAMPLES = join(repositoryRoot(), 'deploy', 'examples');

/** By file, in the order of its placeholders; the last value is for all that follow. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'controller-config.yaml': [`8d7a${'0'.repeat(60)}`, `1c9b${'0'.repeat(60)}`],
  'disruption-policy.yaml': ['/etc/chrony.conf', 'chronyd.service'],
  'extension.yaml': ['usbguard'],
  'file.yaml': ['ntp.example.com'],
  'ignition-2.yaml': ['1G'],
  'infra-file.yaml': ['65535'],
  'kernel-arguments.yaml': ['loglevel=7'],
  'os-image.yaml': [`3b6f${'0'.repeat(60)}`],
  'ssh-keys.yaml': [
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3pDMjTQZTBtl1RH1FjAnfT1uGfIG2oV7rqzW3UyDkS operations@example.com',
  ],
  'unit-with-dropin.yaml': ['/usr/bin/uptime'],
};

export function filledExample(name: string): string {
  const values = VALUES[name];
  if (values === undefined) throw new Error(`no values for deploy/examples/${name}`);
  let next = 0;
  const lines = readFileSync(join(EXAMPLES, name), 'utf8').split('\n');
  const filled = lines.map((line) =>
    line.startsWith('#')
      ? line
      : line.replaceAll(PLACEHOLDER, () => values[Math.min(next++, values.length - 1)] ?? ''),
  );
  return filled.join('\n');
}

export function writeFilledExamples(directory: string): void {
  cpSync(SAMPLES, directory, { recursive: true });
  for (const name of readdirSync(EXAMPLES))
    writeFileSync(join(directory, name), filledExample(name));
}
