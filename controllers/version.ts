import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** package.json is above both controllers/ and dist/controllers/. */
export function packageVersion(directory = __dirname): string {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return (manifest as { readonly version: string }).version;
  } catch (error) {
    if (dirname(directory) === directory) throw error;
    return packageVersion(dirname(directory));
  }
}
