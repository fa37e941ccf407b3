/** One address for several servers: the relay tries the next server when one refuses. */

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface Balancer {
  readonly port: number;
  close(): Promise<void>;
}

/** @param ports - of servers on loopback, in turn */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((client) => {
    open.add(client);
    client.on('close', () => open.delete(client));
    // When a client disconnects, its other half ends with it.
    client.on('error', () => client.destroy());
    const first = turn++;
    relay(client, [...ports.slice(first % ports.length), ...ports.slice(0, first % ports.length)]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function relay(client: Socket, [port, ...others]: readonly number[]): void {
  if (port === undefined) {
    client.destroy();
    return;
  }
  const upstream = connect(port, '127.0.0.1');
  let isConnected = false;
  client.on('close', () => upstream.destroy());
  upstream.on('connect', () => {
    isConnected = true;
    client.pipe(upstream).pipe(client);
  });
  upstream.on('error', () => {
    if (isConnected) client.destroy();
    else relay(client, others);
  });
  upstream.on('close', () => {
    if (isConnected) client.destroy();
  });
}
