/**
 * The certificates of the server as its pod has them: a Secret and a ConfigMap as files, which follow
 * their objects as a kubelet lets them, by one link that is replaced.
 */

import {
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../cluster';

/** Of a kubelet it is a minute. */
const LOOK_MS = 200;
const NAMESPACE = '/api/v1/namespaces/slipway';
const VOLUMES = [
  { path: 'secrets/slipway-server-tls', name: 'tls', encoding: 'base64' },
  { path: 'configmaps/slipway-client-ca', name: 'client-ca', encoding: 'utf8' },
] as const;

/** Files. */
export interface ServerCertificates {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly clientAuthorityFile: string;
  /** Told to hosts. */
  readonly ownAuthorityFile: string;
  /** By which hosts are set up; never changes. */
  readonly hostAuthorityFile: string;
}

export interface MountedCertificates {
  readonly files: ServerCertificates;
  /** Once all are there. @throws Error when it was stopped before */
  readonly present: Promise<void>;
  stop(): Promise<void>;
}

export function mountCertificates(api: ApiClient, directory: string): MountedCertificates {
  const stopping = new AbortController();
  const files = {
    certificateFile: join(directory, 'tls/tls.crt'),
    keyFile: join(directory, 'tls/tls.key'),
    clientAuthorityFile: join(directory, 'client-ca/ca.crt'),
    ownAuthorityFile: join(directory, 'tls/ca.crt'),
    hostAuthorityFile: join(directory, 'host/server-ca.crt'),
  };
  let markPresent = (): void => undefined;
  const present = new Promise<void>((resolve, reject) => {
    markPresent = resolve;
    stopping.signal.addEventListener('abort', () => reject(new Error('stopped')));
  });
  present.catch(() => undefined);
  const seen = new Map<string, string>();
  const look = async (): Promise<void> => {
    for (const { path, name, encoding } of VOLUMES) {
      const { status, text } = await api.send('GET', `${NAMESPACE}/${path}`);
      if (status !== 200 || seen.get(name) === text) continue;
      seen.set(name, text);
      const { data } = JSON.parse(text) as { readonly data: Readonly<Record<string, string>> };
      const contents = Object.entries(data).map(
        ([file, value]) => [file, Buffer.from(value, encoding)] as const,
      );
      mount(join(directory, name), contents);
    }
    if (seen.size < VOLUMES.length) return;
    setUpOnce(files);
    markPresent();
  };
  const following = (async () => {
    while (!stopping.signal.aborted) {
      // The API server may be away; the files stay.
      await look().catch(() => undefined);
      await delay(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  })();
  return {
    files,
    present,
    stop: async () => {
      stopping.abort();
      await following;
    },
  };
}

let serial = 0;

/** As AtomicWriter of Kubernetes does it. */
function mount(volume: string, contents: readonly (readonly [string, Buffer])[]): void {
  serial += 1;
  const version = `..${serial}`;
  mkdirSync(join(volume, version), { recursive: true });
  for (const [file, bytes] of contents) {
    writeFileSync(join(volume, version, file), bytes, { mode: 0o600 });
    if (!isLink(join(volume, file))) symlinkSync(join('..data', file), join(volume, file));
  }
  symlinkSync(version, join(volume, '..data_tmp'));
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** As a person copies it at installation. */
function setUpOnce({ ownAuthorityFile, hostAuthorityFile }: ServerCertificates): void {
  mkdirSync(dirname(hostAuthorityFile), { recursive: true });
  try {
    copyFileSync(ownAuthorityFile, hostAuthorityFile, constants.COPYFILE_EXCL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
