/** Key, certificate and client authority of the host endpoint, and their renewal without a restart. */

import { type FSWatcher, watch } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Server as HttpsServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../core/errors';

export interface TlsFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Authority of the client certificates: the cluster's client CA. */
  readonly clientAuthorityFile: string;
}

export interface HostTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
  readonly requestCert: true;
  readonly rejectUnauthorized: true;
  readonly minVersion: 'TLSv1.2';
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Reads the files. @throws an Error that names the file that cannot be used */
export async function readTls(files: TlsFiles): Promise<HostTls> {
  const [cert, key, ca] = await Promise.all([
    readFile(files.certificateFile),
    readFile(files.keyFile),
    readFile(files.clientAuthorityFile),
  ]);
  const tls = { cert, key, ca, minVersion: 'TLSv1.2' } as const;
  try {
    // Finds out now whether key and certificate belong together.
    createSecureContext(tls);
  } catch (error) {
    throw new Error(
      `certificate ${files.certificateFile} with key ${files.keyFile}: ${messageOf(error)}`,
      { cause: error },
    );
  }
  return { ...tls, requestCert: true, rejectUnauthorized: true };
}

/** Writing several files, or swapping the links of a mounted Secret, takes a moment. */
const SETTLE_MS = 200;

/**
 * Gives the server new files whenever they change, until the signal aborts. New connections get the
 * new certificate. Files that do not fit together are reported, and the old ones stay.
 */
export function followTls(
  server: Pick<HttpsServer, 'setSecureContext'>,
  files: TlsFiles,
  options: { readonly signal: AbortSignal; readonly log: Log },
): void {
  const { signal, log } = options;
  let timer: NodeJS.Timeout | undefined;
  const reload = (): void => {
    readTls(files).then(
      (tls) => {
        server.setSecureContext(tls);
        log.info({ certificate: files.certificateFile }, 'certificate reloaded');
      },
      (error: unknown) => {
        log.warn({ reason: messageOf(error) }, 'certificate not reloaded');
      },
    );
  };
  const soon = (): void => {
    clearTimeout(timer);
    timer = setTimeout(reload, SETTLE_MS);
    timer.unref();
  };
  const watchers = directoriesOf(files).map((directory): FSWatcher => {
    const watcher = watch(directory, { persistent: false }, soon);
    watcher.on('error', (error) => {
      log.warn({ directory, reason: error.message }, 'certificates are not followed any more');
    });
    return watcher;
  });
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  });
}

/** Directories and not files, because files are replaced by renaming. */
function directoriesOf(files: TlsFiles): readonly string[] {
  return [
    ...new Set([files.certificateFile, files.keyFile, files.clientAuthorityFile].map(dirname)),
  ];
}
