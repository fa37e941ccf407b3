/**
 * The authorities by which this machine recognises the server: those of its settings, and those of
 * which the server has told it since.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certificateBlocks, joined, readCertificates } from '../../core/certificates/pem';
import { messageOf } from '../../core/errors';
import { replaceFile } from './replace-file';
import { tryAuthority } from './try-authority';

/** PEM files, read per request, so that rotated ones are used at once. */
export interface TrustFiles {
  readonly authorityFile: string;
  /** Absent: the machine learns nothing. */
  readonly learnedAuthorityFile?: string;
}

interface Endpoint extends TrustFiles {
  readonly url: string;
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** A longer text is no bundle. */
const MAX_CHARACTERS = 256 * 1024;

export function learnedAuthorityFile(root: string): string {
  return join(root, 'var/lib/slipway/server-authority.crt');
}

/** A file that a person has changed since counts alone: what was learned under the old one is void. */
export async function trustedAuthorities(files: TrustFiles): Promise<readonly string[]> {
  const { set, learned } = await readTrust(files);
  return learned === undefined ? [set] : [set, learned];
}

/**
 * Keeps what an authenticated server told, if the server can be recognised by that alone.
 *
 * @returns whether it was new
 * @throws an Error that says why the machine does not keep it
 */
export async function learnAuthorities(told: string, endpoint: Endpoint): Promise<boolean> {
  const { learnedAuthorityFile: file } = endpoint;
  if (file === undefined) return false;
  const { set, learned } = await readTrust(endpoint);
  const bundle = checked(told);
  const known = certificateBlocks(learned ?? set);
  const isKnown =
    learned === undefined
      ? certificateBlocks(bundle).every((block) => known.includes(block))
      : joined(known) === bundle;
  if (isKnown) return false;
  await tryConnection(bundle, endpoint);
  await replaceFile(file, `${headOf(set)}\n${bundle}`);
  return true;
}

interface Trust {
  readonly set: string;
  /** Absent: nothing, or nothing that counts. */
  readonly learned?: string;
}

async function readTrust(files: TrustFiles): Promise<Trust> {
  const set = await readFile(files.authorityFile, 'utf8');
  const learned = await readLearned(files.learnedAuthorityFile);
  return learned?.startsWith(headOf(set)) === true ? { set, learned } : { set };
}

async function readLearned(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Text outside of the certificates is no part of PEM. */
function headOf(set: string): string {
  const digest = createHash('sha256').update(set).digest('hex');
  return `# Told by the server that this machine trusts by an authorityFile with SHA-256 ${digest}.`;
}

function checked(told: string): string {
  const blocks = told.length > MAX_CHARACTERS ? [] : certificateBlocks(told);
  if (blocks.length === 0) throw new Error('there is no certificate in what the server told');
  try {
    readCertificates(told);
  } catch (error) {
    throw new Error(`a certificate that the server told cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return joined(blocks);
}

async function tryConnection(bundle: string, endpoint: Endpoint): Promise<void> {
  const [cert, key] = await Promise.all([
    readFile(endpoint.certificateFile),
    readFile(endpoint.keyFile),
  ]);
  await tryAuthority(endpoint.url, { ca: bundle, cert, key }).catch((error: unknown) => {
    throw new Error(`the server cannot be recognised by what it told: ${messageOf(error)}`, {
      cause: error,
    });
  });
}
