import { writeFile } from 'node:fs/promises';
import type { Credentials } from './certificates';

interface KubeconfigContent {
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  readonly user: string;
  readonly credentials: Credentials;
}

/** Only its owner can read it. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  await writeFile(path, kubeconfigText(content), { mode: 0o600 });
}

/** Self-contained. JSON is valid YAML. */
export function kubeconfigText(content: KubeconfigContent): string {
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
  return `${JSON.stringify(kubeconfig, undefined, 2)}\n`;
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}
