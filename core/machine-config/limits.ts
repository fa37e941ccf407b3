/** Size limits of configs, for the API server and for hosts. */

import { decodeDataUrl } from '../encoding/data-url';
import { fail } from '../errors';
import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';

export const MAX_OBJECT_BYTES = 1_572_864;
/** Files, units and drop-ins on one host. */
export const MAX_PATHS = 20_000;
/** All contents of a config together, unpacked on a host. */
export const MAX_CONTENT_BYTES = 256 * 1024 * 1024;

/**
 * Refuses configs that exceed the limits of hosts, by the sizes in their gzip streams. A false size
 * is caught on the host, which counts while it unpacks.
 *
 * @param config - of the rendered spec
 * @throws ConfigTooLarge
 */
export function refuseOversized(config: IgnitionObject, pool: string): void {
  const files = listOf(structOf(config['storage'])['files']);
  const units = listOf(structOf(config['systemd'])['units']);
  const dropins = units.reduce((sum, unit) => sum + listOf(unit['dropins']).length, 0);
  const paths = files.length + units.length + dropins;
  if (paths > MAX_PATHS) {
    throw fail(
      'ConfigTooLarge',
      `the rendered config of pool ${pool} has ${paths} files, units and drop-ins, and a host takes ` +
        `${MAX_PATHS}; put them into the OS image`,
      { paths, maxPaths: MAX_PATHS },
    );
  }
  const bytes = files.reduce((sum, file) => sum + unpackedBytes(file), 0);
  if (bytes <= MAX_CONTENT_BYTES) return;
  throw fail(
    'ConfigTooLarge',
    `the files of the rendered config of pool ${pool} unpack to ${bytes} bytes, and a host takes ` +
      `${MAX_CONTENT_BYTES}; put large files into the OS image, or have a unit fetch them`,
    { sizeBytes: bytes, maxBytes: MAX_CONTENT_BYTES },
  );
}

/** Only of compressed contents: others are limited by the size of the object. */
function unpackedBytes(file: IgnitionObject): number {
  return [structOf(file['contents']), ...listOf(file['append'])]
    .filter(({ compression }) => compression === 'gzip')
    .reduce((sum, { source }) => sum + sizeOfGzip(wordOf(source)), 0);
}

/** The last four bytes of a gzip stream hold its unpacked size. */
function sizeOfGzip(source: string): number {
  const decoded = decodeDataUrl(source);
  if (decoded.error !== undefined || decoded.bytes.length < 4) return 0;
  return decoded.bytes.slice(-4).reduceRight((sum, byte) => sum * 256 + byte, 0);
}
