/** How large configs may be: for the API server that stores them and for the hosts that unpack them. */

import { decodeDataUrl } from '../encoding/data-url';
import { fail } from '../errors';
import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';

/** What an API server stores at most. */
export const MAX_OBJECT_BYTES = 1_572_864;
/** Files, units and drop-ins that a host takes. */
export const MAX_PATHS = 20_000;
/** Of all contents of a config together, unpacked on a host. */
export const MAX_CONTENT_BYTES = 256 * 1024 * 1024;

/**
 * Refuses what no host takes, by what gzip streams say of their own size. One that lies is refused on
 * the host, which counts while it unpacks.
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

/** Of compressed contents: others are no larger than the object, which has a limit of its own. */
function unpackedBytes(file: IgnitionObject): number {
  return [structOf(file['contents']), ...listOf(file['append'])]
    .filter(({ compression }) => compression === 'gzip')
    .reduce((sum, { source }) => sum + sizeOfGzip(wordOf(source)), 0);
}

/** The last four bytes of a gzip stream are the size of what it holds. */
function sizeOfGzip(source: string): number {
  const decoded = decodeDataUrl(source);
  if (decoded.error !== undefined || decoded.bytes.length < 4) return 0;
  return decoded.bytes.slice(-4).reduceRight((sum, byte) => sum * 256 + byte, 0);
}
