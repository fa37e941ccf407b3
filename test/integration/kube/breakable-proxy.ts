/** A TCP relay to the API server whose connections a test can cut. */

import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { KubeFixture } from './fixture';

export interface BreakableProxy {
  readonly port: number;
  /** Ends every connection, and refuses new ones until `mend`. */
  cut(): void;
  mend(): void;
  /** Present connections carry no more data, and stay open; new ones work. */
  stall(): void;
  /** Holds all data from the server until `release`. */
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

export async function startBreakableProxy(targetPort: number): Promise<BreakableProxy> {
  const sockets = new Set<Socket>();
  /** Client socket → server socket. */
  const answers = new Map<Socket, Socket>();
  let isCut = false;
  let isHeld = false;
  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(targetPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      // Cut connections are the purpose of this proxy.
      socket.on('error', () => socket.destroy());
    }
    client.pipe(upstream);
    answers.set(upstream, client);
    if (!isHeld) upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => {
      answers.delete(upstream);
      client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    mend: () => {
      isCut = false;
    },
    stall: () => {
      for (const [upstream, client] of answers) {
        upstream.unpipe(client);
        client.unpipe(upstream);
      }
      answers.clear();
    },
    hold: () => {
      isHeld = true;
      for (const [upstream, client] of answers) upstream.unpipe(client);
    },
    release: () => {
      isHeld = false;
      for (const [upstream, client] of answers) upstream.pipe(client);
    },
    close: async () => {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The cluster worker's kubeconfig, with the address of the relay. */
export function throughProxy(
  { cluster, workerKubeconfig }: KubeFixture,
  { port }: BreakableProxy,
): string {
  const file = join(cluster.directory, 'proxied.kubeconfig');
  const direct = readFileSync(workerKubeconfig, 'utf8');
  writeFileSync(file, direct.replace(cluster.server, `https://127.0.0.1:${port}`));
  return file;
}
