import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient, type ApiClient } from './cluster/api-client';
import {
  CertificateUse,
  issueCertificate,
  type Credentials,
  type Subject,
} from './cluster/certificates';
import {
  CLUSTER_PROCESSES,
  startClusterProcess,
  type ClusterProcess,
} from './cluster/control-plane';
import {
  issueNodeCredentials,
  userCertificate,
  writeCredentials,
  type CredentialFiles,
  type Signer,
} from './cluster/credentials';
import { writeKubeconfig } from './cluster/kubeconfig';
import { prepareAudit } from './cluster/audit';
import { prepareLayout, type ClusterLayout } from './cluster/layout';
import { postNodes, waitForNodes, type NodeSpec } from './cluster/nodes';
import { residentBytes } from './processes/identity';
import type { ManagedProcess } from './processes/managed-process';
import { adoptDirectory } from './processes/watchdog';

export { createApiClient, type ApiClient } from './cluster/api-client';
export type { ClusterProcess } from './cluster/control-plane';
export { readCredentials, Signer, type CredentialFiles } from './cluster/credentials';
export type { NodeSpec } from './cluster/nodes';

interface ClusterOptions {
  /** False = nodes and pods have no kubelet unless the caller plays it. */
  readonly kwok?: boolean;
  /** Also kept after `stop()`; absent = a temporary directory. */
  readonly directory?: string;
  /** Besides loopback, for machines with a network of their own. */
  readonly address?: string;
  /** Requests of Slipway's users on Nodes and pods, in `auditLog`. */
  readonly audit?: boolean;
  /**
   * KWOK renews Leases four times in this duration; 40 as for a kubelet. Up to 400 is safe: the
   * controller manager then still sees a renewal within its 120 s.
   */
  readonly leaseSeconds?: number;
}

interface ProcessInfo {
  readonly name: ClusterProcess;
  readonly pid: number;
  /** Resident memory in bytes. */
  readonly memory: number;
}

export interface Cluster {
  readonly directory: string;
  /** Stays the same after a restart. */
  readonly server: string;
  /** PEM; signs the certificates of the API server and of all clients. */
  readonly ca: string;
  readonly caFile: string;
  /** Its user has all rights. */
  readonly adminKubeconfig: string;
  /** JSON lines; undefined without `audit`. */
  readonly auditLog: string | undefined;
  readonly admin: ApiClient;
  processes(): readonly ProcessInfo[];
  /** Prometheus text format. */
  apiServerMetrics(): Promise<string>;
  /**
   * For another user, with a certificate from the cluster's CSR API. It has no rights until a
   * RoleBinding grants some.
   *
   * @throws ApiError for the organization `system:masters`, which the signer refuses
   */
  kubeconfigFor(user: Subject): Promise<string>;
  /** `system:node:<name>`, through the CSR API. */
  nodeCredentials(nodeName: string): Promise<CredentialFiles>;
  /** In the order of the names. Use `Signer.AUTHORITY` for hundreds. */
  nodeCredentialsBulk(
    nodeNames: readonly string[],
    options?: { readonly signer?: Signer },
  ): Promise<readonly CredentialFiles[]>;
  serverCertificate(name: string, addresses: readonly string[]): Promise<CredentialFiles>;
  /** As a crash does. etcd keeps all data. */
  killApiServer(): Promise<void>;
  /** On its port; waits until it is ready. */
  startApiServer(): Promise<void>;
  /** As a crash does. */
  kill(name: ClusterProcess): Promise<void>;
  end(name: ClusterProcess): Promise<void>;
  start(name: ClusterProcess): Promise<void>;
  /** With the same ports and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * On free loopback ports: etcd, API server, controller manager, scheduler, and KWOK in place of
 * kubelets.
 *
 * @throws Error with the end of the log of the process that does not start; nothing is left running
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { kwok = true } = options;
  const temporary = options.directory === undefined;
  const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'slipway-cluster-')));
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const disownDirectory = temporary ? adoptDirectory(directory) : () => undefined;
  const layout = {
    ...(await prepareLayout(directory, options.address)),
    ...(options.audit === true ? { audit: await prepareAudit(directory) } : {}),
    leaseSeconds: options.leaseSeconds ?? 40,
  };
  const controlPlane = createControlPlane(
    layout,
    CLUSTER_PROCESSES.filter((name) => kwok || name !== 'kwok'),
  );
  const stop = async (): Promise<void> => {
    await controlPlane.stop({ inOrder: !temporary });
    if (temporary) await rm(directory, { recursive: true, force: true });
    disownDirectory();
  };
  try {
    await controlPlane.start();
  } catch (error) {
    await stop();
    throw error;
  }
  return clusterOf(layout, controlPlane, stop);
}

/** A few at a time; waits until they are Ready and pods can be scheduled to them. */
export async function createNodes(
  cluster: Cluster,
  nodes: readonly NodeSpec[],
  timeoutMs = 120_000,
): Promise<void> {
  await postNodes(cluster.admin, nodes);
  await waitForNodes(
    cluster.admin,
    nodes.map(({ name }) => name),
    timeoutMs,
  );
}

export interface ControlPlane {
  start(): Promise<void>;
  stop(how: { readonly inOrder: boolean }): Promise<void>;
  startOne(name: ClusterProcess): Promise<void>;
  killOne(name: ClusterProcess): Promise<void>;
  endOne(name: ClusterProcess): Promise<void>;
  running(): readonly ManagedProcess[];
}

function createControlPlane(layout: ClusterLayout, names: readonly ClusterProcess[]): ControlPlane {
  const started = new Map<ClusterProcess, ManagedProcess>();
  const startOne = async (name: ClusterProcess): Promise<void> => {
    if (started.get(name)?.ending() === undefined && started.has(name)) return;
    started.set(name, await startClusterProcess(name, layout));
  };
  const running = (): readonly ManagedProcess[] =>
    [...started.values()].filter((process) => process.ending() === undefined);
  return {
    startOne,
    running,
    killOne: async (name) => {
      await started.get(name)?.kill();
    },
    endOne: async (name) => {
      await started.get(name)?.stop();
    },
    start: async () => {
      // All other processes are clients of the API server only.
      const clients = names.filter((name) => name !== 'etcd' && name !== 'kube-apiserver');
      await startOne('etcd');
      await startOne('kube-apiserver');
      const results = await Promise.allSettled(clients.map(startOne));
      const failure = results.find((result) => result.status === 'rejected');
      if (failure !== undefined) throw failure.reason;
    },
    stop: async ({ inOrder }) => {
      if (!inOrder) {
        // Their data is removed too.
        await Promise.all(running().map((process) => process.kill()));
        return;
      }
      for (const process of [...running()].reverse()) await process.stop();
    },
  };
}

/** Of processes that are running. */
export function clusterOf(
  layout: ClusterLayout,
  controlPlane: ControlPlane,
  stopProcesses: () => Promise<void>,
): Cluster {
  const authority = layout.authority.certificate;
  const admin = createApiClient(layout.server, authority, layout.admin);
  const nodeCredentialsBulk: Cluster['nodeCredentialsBulk'] = (nodeNames, { signer } = {}) =>
    issueNodeCredentials(admin, layout, nodeNames, signer);
  return {
    directory: layout.directory,
    server: layout.server,
    ca: authority,
    caFile: layout.caFile,
    adminKubeconfig: layout.adminKubeconfig,
    auditLog: layout.audit?.log,
    admin,
    processes: () =>
      controlPlane.running().map(({ name, pid }) => ({
        name: name as ClusterProcess,
        pid,
        memory: residentBytes(pid) ?? 0,
      })),
    apiServerMetrics: async () => {
      const answer = await admin.send('GET', '/metrics');
      if (answer.status !== 200) throw new Error(`/metrics answers ${answer.status}`);
      return answer.text;
    },
    kubeconfigFor: async (user) => {
      const credentials: Credentials = await userCertificate(admin, user);
      const path = join(layout.directory, `${encodeURIComponent(user.commonName)}.kubeconfig`);
      const { server } = layout;
      await writeKubeconfig(path, { server, authority, user: user.commonName, credentials });
      return path;
    },
    nodeCredentials: async (nodeName) => {
      const [files] = await nodeCredentialsBulk([nodeName]);
      if (files === undefined) throw new Error(`no credentials for ${nodeName}`);
      return files;
    },
    nodeCredentialsBulk,
    serverCertificate: async (name, addresses) => {
      const request = { subject: { commonName: name }, use: CertificateUse.SERVER, addresses };
      const credentials = await issueCertificate(layout.authority, request);
      return writeCredentials(layout, join('servers', name), credentials);
    },
    killApiServer: () => controlPlane.killOne('kube-apiserver'),
    startApiServer: () => controlPlane.startOne('kube-apiserver'),
    kill: (name) => controlPlane.killOne(name),
    end: (name) => controlPlane.endOne(name),
    start: (name) => controlPlane.startOne(name),
    restart: async () => {
      await controlPlane.stop({ inOrder: true });
      await controlPlane.start();
    },
    stop: async () => {
      admin.close();
      await stopProcesses();
    },
  };
}
