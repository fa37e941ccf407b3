import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Of Slipway. package.json is above the sources and above dist/, and beside the bundle of the host worker. */
export const VERSION: string = readVersion(__dirname);

function readVersion(directory: string): string {
  try {
    const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
      readonly version: string;
    };
    return manifest.version;
  } catch (error) {
    if (dirname(directory) === directory) throw error;
    return readVersion(dirname(directory));
  }
}
