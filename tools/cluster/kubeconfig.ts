import { writeFile } from 'node:fs/promises';
import type { Credentials } from './certificates';

/** Whom a kubeconfig lets in where. */
export interface KubeconfigContent {
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  readonly user: string;
  readonly credentials: Credentials;
}

/**
 * Writes a kubeconfig with everything inside, readable by its owner only. It is JSON, which every
 * reader of YAML reads.
 */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  const { server, authority, user, credentials } = content;
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'slipway',
        cluster: { server, 'certificate-authority-data': base64(authority) },
      },
    ],
    users: [
      {
        name: user,
        user: {
          'client-certificate-data': base64(credentials.certificate),
          'client-key-data': base64(credentials.key),
        },
      },
    ],
    contexts: [{ name: user, context: { cluster: 'slipway', user } }],
    'current-context': user,
  };
  await writeFile(path, `${JSON.stringify(kubeconfig, undefined, 2)}\n`, { mode: 0o600 });
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
