import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Found by walking up to Slipway's package.json, from tools/ and from dist/tools/.
 *
 * @throws Error when the code runs outside a checkout
 */
export function repositoryRoot(from: string = __dirname): string {
  for (let directory = from; ; directory = dirname(directory)) {
    const manifest = join(directory, 'package.json');
    if (existsSync(manifest) && packageName(manifest) === 'slipway') return directory;
    if (directory === dirname(directory)) {
      throw new Error(`no package.json of slipway above ${from}; the tools run from a checkout`);
    }
  }
}

function packageName(manifest: string): unknown {
  const parsed: unknown = JSON.parse(readFileSync(manifest, 'utf8'));
  return typeof parsed === 'object' && parsed !== null && 'name' in parsed
    ? parsed.name
    : undefined;
}
