import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from './api-client';
import {
  CertificateUse,
  issueCertificate,
  newSigningRequest,
  type Credentials,
  type Subject,
} from './certificates';
import { mapBounded } from './bounded';
import { writeSecret, type ClusterLayout } from './layout';

export interface CredentialFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

export const Signer = {
  /** As for real nodes: about 20 ms each. */
  CSR_API: 'csr-api',
  /** In this process: for hundreds of nodes. */
  AUTHORITY: 'authority',
} as const;
export type Signer = (typeof Signer)[keyof typeof Signer];

const SIGNERS = {
  user: 'kubernetes.io/kube-apiserver-client',
  node: 'kubernetes.io/kube-apiserver-client-kubelet',
} as const;

/**
 * Through the cluster's CSR API, approved by the admin.
 *
 * @throws ApiError when the API server refuses the subject: the signer never grants
 *   `system:masters`
 */
export function userCertificate(api: ApiClient, subject: Subject): Promise<Credentials> {
  return throughCsrApi(api, SIGNERS.user, subject);
}

function nodeSubject(nodeName: string): Subject {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] };
}

/** Files under the cluster's directory, in the order of the names. */
export function issueNodeCredentials(
  api: ApiClient,
  layout: ClusterLayout,
  nodeNames: readonly string[],
  signer: Signer = Signer.CSR_API,
): Promise<readonly CredentialFiles[]> {
  return mapBounded(nodeNames, 8, async (nodeName) => {
    const subject = nodeSubject(nodeName);
    const credentials =
      signer === Signer.CSR_API
        ? await throughCsrApi(api, SIGNERS.node, subject)
        : await issueCertificate(layout.authority, { subject, use: CertificateUse.CLIENT });
    return writeCredentials(layout, join('nodes', nodeName), credentials);
  });
}

export async function writeCredentials(
  layout: ClusterLayout,
  name: string,
  credentials: Credentials,
): Promise<CredentialFiles> {
  const directory = join(layout.directory, 'credentials', name);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return {
    certFile: await writeSecret(join(directory, 'tls.crt'), credentials.certificate),
    keyFile: await writeSecret(join(directory, 'tls.key'), credentials.key),
    caFile: layout.caFile,
  };
}

export async function readCredentials(files: CredentialFiles): Promise<Credentials> {
  return {
    certificate: await readFile(files.certFile, 'utf8'),
    key: await readFile(files.keyFile, 'utf8'),
  };
}

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const SIGNING_TIMEOUT_MS = 60_000;

async function throughCsrApi(
  api: ApiClient,
  signerName: string,
  subject: Subject,
): Promise<Credentials> {
  const { request, key } = await newSigningRequest(subject);
  const created = await api.call<SigningRequest>('POST', REQUESTS, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'slipway-' },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName,
      usages: ['digital signature', 'client auth'],
    },
  });
  const path = `${REQUESTS}/${created.metadata.name}`;
  // The controller manager may have changed the request.
  await api.call('PATCH', `${path}/approval`, {
    status: {
      conditions: [
        {
          type: 'Approved',
          status: 'True',
          reason: 'DevelopmentCluster',
          message: 'approved by the admin of this development cluster',
        },
      ],
    },
  });
  const certificate = await waitForCertificate(api, path, subject);
  await api.call('DELETE', path);
  return { certificate, key };
}

async function waitForCertificate(api: ApiClient, path: string, subject: Subject): Promise<string> {
  const deadline = performance.now() + SIGNING_TIMEOUT_MS;
  while (performance.now() < deadline) {
    const { status } = await api.call<SigningRequest>('GET', path);
    if (status?.certificate !== undefined) {
      return Buffer.from(status.certificate, 'base64').toString('utf8');
    }
    const failed = status?.conditions?.find(({ type }) => type === 'Failed' || type === 'Denied');
    if (failed !== undefined) {
      throw new Error(`no certificate for ${subject.commonName}: ${failed.message ?? failed.type}`);
    }
    await delay(20);
  }
  throw new Error(`the controller manager has not signed ${path} for ${subject.commonName}`);
}
