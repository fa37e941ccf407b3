import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../processes/free-ports';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  newSigningKey,
  type Credentials,
} from './certificates';
import type { AuditFiles } from './audit';
import { writeKubeconfig } from './kubeconfig';

/** Restarts keep the ports. */
interface ClusterPorts {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
  readonly controllerManager: number;
  readonly scheduler: number;
  readonly kwok: number;
}

export interface ClusterLayout {
  readonly directory: string;
  readonly ports: ClusterPorts;
  readonly server: string;
  /** Besides loopback. */
  readonly address: string | undefined;
  readonly authority: Credentials;
  readonly caFile: string;
  readonly caKeyFile: string;
  readonly servingCertificateFile: string;
  readonly servingKeyFile: string;
  /** Of the API server, for kubelets. */
  readonly kubeletClientCertificateFile: string;
  readonly kubeletClientKeyFile: string;
  readonly serviceAccountKeyFile: string;
  readonly serviceAccountPublicKeyFile: string;
  readonly admin: Credentials;
  readonly adminKubeconfig: string;
  readonly controllerManagerKubeconfig: string;
  readonly schedulerKubeconfig: string;
  readonly kwokKubeconfig: string;
  /** Absent = no audit. */
  readonly audit?: AuditFiles;
  readonly leaseSeconds: number;
}

export async function prepareLayout(directory: string, address?: string): Promise<ClusterLayout> {
  const pki = join(directory, 'pki');
  await mkdir(pki, { recursive: true, mode: 0o700 });
  const ports = await pickPorts();
  const server = `https://127.0.0.1:${ports.apiServer}`;
  const authority = await newAuthority('slipway-development-cluster');
  const serving = await issueCertificate(authority, {
    subject: { commonName: 'kube-apiserver' },
    use: CertificateUse.SERVER,
    addresses: [
      ...['127.0.0.1', 'localhost', 'kubernetes.default.svc', '10.96.0.1'],
      ...(address === undefined ? [] : [address]),
    ],
  });
  const serviceAccount = await newSigningKey();
  const write = (name: string, content: string): Promise<string> =>
    writeSecret(join(pki, name), content);
  const admin = await superuser(authority, 'admin');
  const kubeletClient = await superuser(authority, 'kube-apiserver-kubelet-client');
  const kubeconfig = async (user: string, credentials?: Credentials): Promise<string> => {
    const path = join(directory, `${user}.kubeconfig`);
    await writeKubeconfig(path, {
      server,
      authority: authority.certificate,
      user,
      credentials: credentials ?? (await superuser(authority, user)),
    });
    return path;
  };
  return {
    leaseSeconds: 40,
    directory,
    ports,
    server,
    address,
    authority,
    caFile: await write('ca.crt', authority.certificate),
    caKeyFile: await write('ca.key', authority.key),
    servingCertificateFile: await write('kube-apiserver.crt', serving.certificate),
    servingKeyFile: await write('kube-apiserver.key', serving.key),
    kubeletClientCertificateFile: await write('kubelet-client.crt', kubeletClient.certificate),
    kubeletClientKeyFile: await write('kubelet-client.key', kubeletClient.key),
    serviceAccountKeyFile: await write('service-accounts.key', serviceAccount.key),
    serviceAccountPublicKeyFile: await write('service-accounts.pub', serviceAccount.publicKey),
    admin,
    adminKubeconfig: await kubeconfig('admin', admin),
    controllerManagerKubeconfig: await kubeconfig('kube-controller-manager'),
    schedulerKubeconfig: await kubeconfig('kube-scheduler'),
    kwokKubeconfig: await kubeconfig('kwok'),
  };
}

async function pickPorts(): Promise<ClusterPorts> {
  const [etcd = 0, etcdPeer = 0, apiServer = 0, controllerManager = 0, scheduler = 0, kwok = 0] =
    await freePorts(6);
  return { etcd, etcdPeer, apiServer, controllerManager, scheduler, kwok };
}

/** Needs no RBAC objects, which do not exist yet. */
function superuser(authority: Credentials, commonName: string): Promise<Credentials> {
  return issueCertificate(authority, {
    subject: { commonName, organizations: ['system:masters'] },
    use: CertificateUse.CLIENT,
  });
}

/** The umask and the mode of an existing file make no difference. */
export async function writeSecret(path: string, content: string): Promise<string> {
  await writeFile(path, content, { mode: 0o600 });
  await chmod(path, 0o600);
  return path;
}
