/** Contents of files: whether a host can read them, and whether they match their hash. */

import { decodeDataUrl } from '../encoding/data-url';
import { messageOf } from '../errors';
import type { IgnitionObject, RenderPorts } from '../ignition';
import { structOf } from '../ignition';
import type { Report } from './admission-problem';
import { isVerified } from './verification';

export type ContentPorts = RenderPorts;

const FIX_SOURCE = 'write the contents as a data URL: data:;base64,<contents>';

/**
 * Reports contents that no host could write. Absent contents are valid: another MachineConfig may
 * bring them.
 */
export function reportContents(
  contents: IgnitionObject,
  field: string,
  ports: ContentPorts,
  report: Report,
): void {
  const read = readContents(contents, ports);
  if (read === undefined) return;
  if ('problem' in read) {
    report(`${field}.source`, read.problem, read.fix);
    return;
  }
  const problem = hashProblem(contents, ports, read.bytes);
  if (problem === undefined) return;
  report(
    `${field}.verification.hash`,
    problem,
    'write the hash of what the file will hold, after decompression, or leave verification out',
  );
}

/**
 * Why the hash does not match the contents; undefined = it matches, or there is nothing to compare.
 */
export function hashProblem(
  contents: IgnitionObject,
  ports: ContentPorts,
  known?: Uint8Array,
): string | undefined {
  const hash = structOf(contents['verification'])['hash'];
  if (typeof hash !== 'string') return undefined;
  const read = known === undefined ? readContents(contents, ports) : { bytes: known };
  if (read === undefined || 'problem' in read || isVerified(read.bytes, hash)) {
    return undefined;
  }
  return 'the contents have another hash';
}

type Read = { readonly bytes: Uint8Array } | { readonly problem: string; readonly fix: string };

/** The bytes that a host would write; undefined = none. */
function readContents(contents: IgnitionObject, ports: ContentPorts): Read | undefined {
  const source = contents['source'];
  if (typeof source !== 'string' || source === '') return undefined;
  if (!source.startsWith('data:')) {
    return { problem: 'hosts do not fetch remote contents', fix: FIX_SOURCE };
  }
  const decoded = decodeDataUrl(source);
  if (decoded.error !== undefined) return { problem: decoded.error, fix: FIX_SOURCE };
  if (contents['compression'] !== 'gzip') return { bytes: decoded.bytes };
  try {
    return { bytes: ports.gunzip(decoded.bytes) };
  } catch (error) {
    return {
      problem: `the contents are no gzip stream (${messageOf(error)})`,
      fix: 'compress them with gzip, or leave compression out',
    };
  }
}
