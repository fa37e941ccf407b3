/** Keys, certificates and client authority, renewed without a restart. */

import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Server as HttpsServer } from 'node:https';
import { createSecureContext, DEFAULT_CIPHERS } from 'node:tls';
import { messageOf } from '../core/errors';
import { followFiles, type FollowLog } from './follow-files';

interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Absent = no client certificates are required. */
  readonly clientAuthorityFile?: string | undefined;
}

/** The authority is the cluster's client CA. */
interface TlsFiles extends CertificateFiles {
  readonly clientAuthorityFile: string;
}

interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
  readonly ciphers: string;
}

/** The fastest first: encryption is most of the cost of a large answer. */
const CIPHERS = ['TLS_AES_128_GCM_SHA256', ...DEFAULT_CIPHERS.split(':')]
  .filter((name, index, all) => all.indexOf(name) === index)
  .join(':');

export interface HostTls extends ServerTls {
  readonly ca: Buffer;
  readonly requestCert: true;
  readonly rejectUnauthorized: true;
}

/** @throws an Error named SettingsError that names the unusable file */
export function readTls(files: TlsFiles): Promise<HostTls>;
export function readTls(files: CertificateFiles): Promise<ServerTls>;
export async function readTls(files: CertificateFiles): Promise<ServerTls | HostTls> {
  const { certificateFile, keyFile, clientAuthorityFile } = files;
  const [cert, key, ca] = await Promise.all([
    readPem('certificateFile', certificateFile),
    readPem('keyFile', keyFile),
    clientAuthorityFile === undefined
      ? undefined
      : readAuthority('clientAuthorityFile', clientAuthorityFile),
  ]);
  const tls = { cert, key, minVersion: 'TLSv1.2', ciphers: CIPHERS } as const;
  try {
    // Fails now when key and certificate do not match.
    createSecureContext({ ...tls, ca });
  } catch (error) {
    throw unusable(
      `certificate ${certificateFile} with key ${keyFile}: ${messageOf(error)}`,
      error,
    );
  }
  if (ca === undefined) return tls;
  return { ...tls, ca, requestCert: true, rejectUnauthorized: true };
}

async function readPem(setting: keyof CertificateFiles, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw unusable(`${setting}: ${file} cannot be read: ${messageOf(error)}`, error);
  }
}

/** As in OpenSSL; an unterminated block extends to the end of the file. */
const CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[\s\S]*?(?:-----END [A-Z0-9 ]+-----|$)/g;

/** Node silently skips a broken certificate and all that follow: no host would get in. */
async function readAuthority(setting: keyof CertificateFiles, file: string): Promise<Buffer> {
  const bytes = await readPem(setting, file);
  const blocks = bytes.toString('latin1').match(CERTIFICATE) ?? [];
  if (blocks.length === 0) {
    throw unusable(
      `${setting}: there is no certificate in ${file}; give the authority of the clients as PEM (BEGIN CERTIFICATE)`,
    );
  }
  blocks.forEach((block, index) => {
    try {
      new X509Certificate(block);
    } catch (error) {
      const which = `certificate ${index + 1} of ${blocks.length}`;
      throw unusable(`${setting}: ${which} in ${file} cannot be read: ${messageOf(error)}`, error);
    }
  });
  return bytes;
}

function unusable(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { name: 'SettingsError' });
}

/**
 * Loads changed files until the signal aborts, for new connections. Files that do not match are
 * logged, and the old ones stay.
 *
 * @param options - `tls`: what the server has; the files may have changed since
 */
export function followTls(
  server: Pick<HttpsServer, 'setSecureContext'>,
  files: CertificateFiles,
  options: {
    readonly tls: ServerTls | HostTls;
    readonly signal: AbortSignal;
    readonly log: FollowLog;
  },
): void {
  const { log } = options;
  let known = fingerprint(options.tls);
  const reload = (): void => {
    readTls(files).then(
      (tls) => {
        // Other files of the directory change, too.
        const print = fingerprint(tls);
        if (print === known) return;
        known = print;
        server.setSecureContext(tls);
        log.info({ certificate: files.certificateFile }, 'certificate reloaded');
      },
      (error: unknown) => {
        log.warn({ reason: messageOf(error) }, 'certificate not reloaded');
      },
    );
  };
  const { certificateFile, keyFile, clientAuthorityFile } = files;
  const authority = clientAuthorityFile === undefined ? [] : [clientAuthorityFile];
  followFiles([certificateFile, keyFile, ...authority], reload, options);
  reload();
}

function fingerprint(tls: ServerTls | HostTls): string {
  const hash = createHash('sha256');
  for (const part of [tls.cert, tls.key, 'ca' in tls ? tls.ca : '']) hash.update(part).update('\0');
  return hash.digest('hex');
}
