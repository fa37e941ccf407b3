import { Agent, get } from 'node:https';
import { get as getPlain, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { ensureBinary, type BinaryName } from '../binaries';
import { repositoryRoot } from '../repository-root';
import { startProcess, waitUntilReady, type ManagedProcess } from '../processes/managed-process';
import type { ClusterLayout } from './layout';

export const CLUSTER_PROCESSES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
] as const satisfies readonly BinaryName[];
export type ClusterProcess = (typeof CLUSTER_PROCESSES)[number];

const READY_TIMEOUT_MS = 180_000;

/** Waits until the process is ready. */
export async function startClusterProcess(
  name: ClusterProcess,
  layout: ClusterLayout,
): Promise<ManagedProcess> {
  const running = await startProcess({
    name,
    command: await ensureBinary(name),
    args: ARGUMENTS[name](layout),
    logFile: join(layout.directory, 'logs', `${name}.log`),
  });
  try {
    await waitUntilReady(running, () => answersOk(readyUrl(name, layout)), READY_TIMEOUT_MS);
    return running;
  } catch (error) {
    await running.kill();
    throw error;
  }
}

function readyUrl(name: ClusterProcess, { ports, server }: ClusterLayout): string {
  switch (name) {
    case 'etcd':
      return `http://127.0.0.1:${ports.etcd}/readyz`;
    case 'kube-apiserver':
      return `${server}/readyz`;
    case 'kube-controller-manager':
      return `https://127.0.0.1:${ports.controllerManager}/healthz`;
    case 'kube-scheduler':
      return `https://127.0.0.1:${ports.scheduler}/readyz`;
    case 'kwok':
      return `http://127.0.0.1:${ports.kwok}/healthz`;
  }
}

/** Requests to controller manager and scheduler carry no secrets. */
const ANY_CERTIFICATE = new Agent({ rejectUnauthorized: false });

function answersOk(url: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onAnswer = (answer: IncomingMessage): void => {
      answer.resume();
      resolve(answer.statusCode === 200);
    };
    const outgoing = url.startsWith('https:')
      ? get(url, { agent: ANY_CERTIFICATE, timeout: 5_000 }, onAnswer)
      : getPlain(url, { timeout: 5_000 }, onAnswer);
    outgoing.once('timeout', () => outgoing.destroy(new Error(`${url} does not answer`)));
    outgoing.once('error', reject);
  });
}

/** As for kubelets: the controller manager waits 50 s for a Lease that is renewed every 10 s. */
const RENEWALS_MISSED = 5;
const GRACE_SECONDS = 120;

/**
 * How long a silent node counts as Ready: a busy machine must not make every node NotReady. KWOK
 * renews Leases every quarter of their duration, and retries no sooner.
 */
function graceSeconds({ leaseSeconds }: ClusterLayout): number {
  return Math.max(GRACE_SECONDS, (RENEWALS_MISSED * leaseSeconds) / 4);
}

const ARGUMENTS: Readonly<Record<ClusterProcess, (layout: ClusterLayout) => readonly string[]>> = {
  etcd: ({ directory, ports }) => [
    `--data-dir=${join(directory, 'etcd')}`,
    `--listen-client-urls=http://127.0.0.1:${ports.etcd}`,
    `--advertise-client-urls=http://127.0.0.1:${ports.etcd}`,
    `--listen-peer-urls=http://127.0.0.1:${ports.etcdPeer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${ports.etcdPeer}`,
    `--initial-cluster=default=http://127.0.0.1:${ports.etcdPeer}`,
    // A development cluster may lose data in a power cut.
    '--unsafe-no-fsync',
  ],
  'kube-apiserver': (layout) => [
    `--etcd-servers=http://127.0.0.1:${layout.ports.etcd}`,
    `--secure-port=${layout.ports.apiServer}`,
    // Inside a network of its own, with `address`.
    `--bind-address=${layout.address === undefined ? '127.0.0.1' : '0.0.0.0'}`,
    '--advertise-address=127.0.0.1',
    // Endpoints of a Service cannot be loopback addresses.
    '--endpoint-reconciler-type=none',
    `--client-ca-file=${layout.caFile}`,
    `--tls-cert-file=${layout.servingCertificateFile}`,
    `--tls-private-key-file=${layout.servingKeyFile}`,
    `--kubelet-client-certificate=${layout.kubeletClientCertificateFile}`,
    `--kubelet-client-key=${layout.kubeletClientKeyFile}`,
    // No name server knows the machines.
    '--kubelet-preferred-address-types=InternalIP,Hostname',
    `--service-account-key-file=${layout.serviceAccountPublicKeyFile}`,
    `--service-account-signing-key-file=${layout.serviceAccountKeyFile}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    // As every installer does: `slipway debug` has a privileged pod.
    '--allow-privileged=true',
    '--enable-admission-plugins=NodeRestriction',
    // Without machines no pod really runs, so none needs a token.
    ...(layout.address === undefined ? ['--disable-admission-plugins=ServiceAccount'] : []),
    ...(layout.audit === undefined
      ? []
      : [`--audit-policy-file=${layout.audit.policy}`, `--audit-log-path=${layout.audit.log}`]),
  ],
  'kube-controller-manager': (layout) => [
    `--kubeconfig=${layout.controllerManagerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${layout.ports.controllerManager}`,
    '--leader-elect=false',
    `--service-account-private-key-file=${layout.serviceAccountKeyFile}`,
    `--root-ca-file=${layout.caFile}`,
    `--cluster-signing-cert-file=${layout.caFile}`,
    `--cluster-signing-key-file=${layout.caKeyFile}`,
    '--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller',
    // The default of 20 would delay a rollout through 200 nodes.
    '--kube-api-qps=200',
    '--kube-api-burst=400',
    `--node-monitor-grace-period=${graceSeconds(layout)}s`,
    // KWOK needs minutes for thousands of nodes, and plays only nodes without a status, not even
    // one of the controller manager.
    '--node-startup-grace-period=30m',
  ],
  'kube-scheduler': (layout) => [
    `--kubeconfig=${layout.schedulerKubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${layout.ports.scheduler}`,
    '--leader-elect=false',
  ],
  kwok: (layout) => [
    `--kubeconfig=${layout.kwokKubeconfig}`,
    `--config=${join(repositoryRoot(), 'tools', 'kwok', 'stages.yaml')}`,
    `--config=${join(repositoryRoot(), 'tools', 'kwok', 'options.yaml')}`,
    '--manage-all-nodes=true',
    `--node-lease-duration-seconds=${layout.leaseSeconds}`,
    `--server-address=127.0.0.1:${layout.ports.kwok}`,
    '--node-ip=127.0.0.1',
  ],
};
