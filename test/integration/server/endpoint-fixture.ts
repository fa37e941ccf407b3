/** A real cluster with two pools and their rendered configs, and the server on it. */

import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS } from '../../../adapters/kube/resources';
import { createConfigClient, type ConfigClient } from '../../../adapters/host';
import { digestOf } from '../../../host/records/configs';
import { canonicalConfig } from '../../../core/machine-config/canonical';
import type { MachineConfigSpec } from '../../../core/machine-config/types';
import { MCO_GROUP, MCO_VERSION } from '../../../core/names';
import { startServer, type RunningServer } from '../../../server/main';
import type { ServerOptions } from '../../../server/settings';
import { createNodes, type CredentialFiles } from '../../../tools/cluster';
import type { ConfigReference } from '../../../workflows/contracts/host';
import { preparerHere } from './preparer-here';
import { applyManifest, eventually, startKubeFixture, type KubeFixture } from '../kube/fixture';

const MCO = `${MCO_GROUP}/${MCO_VERSION}`;

export interface EndpointFixture {
  readonly kube: KubeFixture;
  readonly server: RunningServer & { readonly hostUrl: string };
  readonly serverFiles: CredentialFiles;
  /** A client as on a host, with the node's own certificate. */
  clientOf(node: string): Promise<ConfigClient>;
  credentialsOf(node: string): Promise<CredentialFiles>;
  /** Makes a rendered config that the pool owns; its digest is of the object in the API server. */
  addConfig(name: string, pool: string, spec: MachineConfigSpec): Promise<ConfigReference>;
  /** Makes a config the target of its pool. */
  setTarget(pool: string, config: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts everything, with these nodes as workers and one master. @param more - settings of the server */
export async function startEndpoint(
  workers: readonly string[],
  more: Partial<ServerOptions> = {},
): Promise<EndpointFixture> {
  const kube = await startKubeFixture();
  const stopping = new AbortController();
  try {
    const { cluster } = kube;
    for (const pool of ['worker', 'master']) await addPool(kube, pool);
    await createNodes(cluster, [
      ...workers.map((name) => ({ name, labels: { 'node-role.kubernetes.io/worker': '' } })),
      { name: 'master-0', labels: { 'node-role.kubernetes.io/master': '' } },
    ]);
    const serverFiles = await cluster.serverCertificate('host-endpoint', ['127.0.0.1']);
    const server = await startServer(
      {
        kubeconfig: await cluster.kubeconfigFor({ commonName: 'slipway-server' }),
        address: '127.0.0.1',
        hostPort: 0,
        plainAddress: '127.0.0.1',
        plainPort: 0,
        certificateFile: serverFiles.certFile,
        keyFile: serverFiles.keyFile,
        clientAuthorityFile: cluster.caFile,
        ignitionPort: 0,
        logLevel: 'silent',
        ...more,
      },
      stopping.signal,
      { preparer: preparerHere },
    );
    const { hostUrl = '' } = server;
    await eventually(async () => {
      const answer = await fetch(`${server.plainUrl}/readyz`);
      if (answer.status !== 200) throw new Error(await answer.text());
    });
    const credentialsOf = (node: string) => cluster.nodeCredentials(node);
    return {
      kube,
      server: { ...server, hostUrl },
      serverFiles,
      credentialsOf,
      clientOf: async (node) => clientWith(hostUrl, await credentialsOf(node)),
      addConfig: (name, pool, spec) => addConfig(kube, { name, pool, spec }),
      setTarget: async (name, config) => {
        const spec = { configuration: { name: config } };
        await kube.admin.patch(MACHINE_CONFIG_POOLS, { name }, { spec });
      },
      stop: async () => {
        stopping.abort();
        await server.stopped;
        await kube.stop();
      },
    };
  } catch (error) {
    stopping.abort();
    await kube.stop();
    throw error;
  }
}

export function clientWith(url: string, files: CredentialFiles): ConfigClient {
  return createConfigClient({
    url,
    certificateFile: files.certFile,
    keyFile: files.keyFile,
    authorityFile: files.caFile,
  });
}

async function addPool(kube: KubeFixture, name: string): Promise<void> {
  await applyManifest(kube.admin, {
    apiVersion: MCO,
    kind: 'MachineConfigPool',
    metadata: { name },
    spec: {
      machineConfigSelector: { matchLabels: { [`${MCO_GROUP}/role`]: name } },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
    },
  });
}

async function addConfig(
  { admin }: KubeFixture,
  { name, pool, spec }: { name: string; pool: string; spec: MachineConfigSpec },
): Promise<ConfigReference> {
  const owner = await admin.get(MACHINE_CONFIG_POOLS, { name: pool });
  const created = await admin.create(MACHINE_CONFIGS, {
    apiVersion: MCO,
    kind: 'MachineConfig',
    metadata: {
      name,
      ownerReferences: [
        {
          apiVersion: MCO,
          kind: 'MachineConfigPool',
          name: pool,
          uid: owner.metadata.uid ?? '',
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    spec,
  });
  return { name, digest: digestOf(canonicalConfig(created)) };
}
