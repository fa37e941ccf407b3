/** KWOK as the kubelet of every node: its API serves logs from a file, and runs commands on this machine. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../../../adapters/kube/client';
import { NODES } from '../../../../adapters/kube/resources';
import type { Node } from '../../../../core/node/types';
import { eventually } from '../../kube/fixture';
import { ensureBinary } from '../../../../tools/binaries';
import type { ClusterLayout } from '../../../../tools/cluster/layout';
import { startProcess, waitUntilReady } from '../../../../tools/processes/managed-process';
import { repositoryRoot } from '../../../../tools/repository-root';

export interface PlayedKubelet {
  /** Of every container, in the format of CRI. */
  readonly logsFile: string;
  /** Makes the node Ready and its API reachable. */
  addNode(admin: KubeClient, node: Node): Promise<void>;
  stop(): Promise<void>;
}

/** @param environment - of the commands, too */
export async function playKubelet(
  layout: ClusterLayout,
  environment: Readonly<Record<string, string>> = {},
): Promise<PlayedKubelet> {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-kubelet-'));
  const logsFile = join(directory, 'container.log');
  writeFileSync(logsFile, '');
  const config = join(directory, 'kwok.yaml');
  const documents = [
    kwok('ClusterLogs', { logs: [{ logsFile, previousLogsFile: logsFile }] }),
    kwok('ClusterExec', { execs: [{ local: {} }] }),
  ];
  writeFileSync(config, documents.map((document) => JSON.stringify(document)).join('\n---\n'));
  const own = (name: string) => join(repositoryRoot(), 'tools', 'kwok', name);
  const running = await startProcess({
    name: 'kwok',
    command: await ensureBinary('kwok'),
    args: [
      `--kubeconfig=${layout.kwokKubeconfig}`,
      ...[own('stages.yaml'), own('options.yaml'), config].map((file) => `--config=${file}`),
      '--manage-all-nodes=true',
      `--server-address=127.0.0.1:${layout.ports.kwok}`,
      '--node-ip=127.0.0.1',
    ],
    logFile: join(directory, 'kwok.log'),
    environment,
  });
  const health = `http://127.0.0.1:${layout.ports.kwok}/healthz`;
  await waitUntilReady(running, async () => (await fetch(health)).ok, 60_000);
  return {
    logsFile,
    addNode: async (admin, node) => {
      await admin.create(NODES, node);
      await eventually(async () => {
        const { status } = await admin.get(NODES, node.metadata);
        if (status?.conditions === undefined) throw new Error('KWOK has not seen it');
      });
      const status = {
        addresses: [{ type: 'Hostname', address: '127.0.0.1' }],
        daemonEndpoints: { kubeletEndpoint: { Port: layout.ports.kwok } },
      };
      const key = { name: node.metadata.name, subresource: 'status' };
      await admin.patch(NODES, key, { status });
    },
    stop: async () => {
      await running.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function kwok(kind: string, spec: object): object {
  return { apiVersion: 'kwok.x-k8s.io/v1alpha1', kind, metadata: { name: 'tests' }, spec };
}
