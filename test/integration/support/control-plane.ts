/**
 * A control plane for many files: it runs beside the tests, which start and end its processes through a port of this
 * one. Node and pod controllers are there only while a file wants them.
 */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startClusterProcess, type ClusterProcess } from '../../../tools/cluster/control-plane';
import { prepareLayout, type ClusterLayout } from '../../../tools/cluster/layout';
import type { ManagedProcess } from '../../../tools/processes/managed-process';
import { connectKube } from '../../../adapters/kube/client';
import { installCrds } from '../crds/install';

/** Names the file that says where it is. */
export const WHERE = 'SLIPWAY_TEST_CONTROL_PLANE';

/** A test needs these to use it. */
export interface WhereItIs {
  readonly layout: ClusterLayout;
  /** `POST /<how>/<process>`. */
  readonly control: string;
}

export type Hand = 'start' | 'kill' | 'end';

export interface ServedControlPlane {
  stop(): Promise<void>;
}

export async function serveControlPlane(): Promise<ServedControlPlane> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-integration-'));
  const layout = await prepareLayout(directory);
  const running = new Map<ClusterProcess, ManagedProcess>();
  const hands: Record<Hand, (name: ClusterProcess) => Promise<void>> = {
    start: async (name) => {
      if (running.get(name)?.ending() === undefined && running.has(name)) return;
      running.set(name, await startClusterProcess(name, layout));
    },
    kill: async (name) => running.get(name)?.kill(),
    end: async (name) => running.get(name)?.stop(),
  };
  const stop = async (): Promise<void> => {
    for (const process of running.values()) await process.kill();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await hands.start('etcd');
    await hands.start('kube-apiserver');
    await withCrds(layout);
    const server = createServer((request, response) => {
      const [, how, name] = (request.url ?? '').split('/') as [string, Hand, ClusterProcess];
      hands[how](name).then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const where: WhereItIs = {
      layout,
      control: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    };
    const file = join(directory, 'where.json');
    await writeFile(file, JSON.stringify(where), { mode: 0o600 });
    process.env[WHERE] = file;
    return {
      stop: async () => {
        server.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function withCrds({ adminKubeconfig: kubeconfig }: ClusterLayout): Promise<void> {
  const nothing = (): void => undefined;
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const admin = await connectKube({ kubeconfig, userAgent: 'slipway-tests', log });
  await installCrds(admin);
  admin.close();
}
