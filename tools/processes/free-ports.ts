import { createServer } from 'node:net';

/** Below the local ports of outgoing connections: a restarted server must find its port free. */
const LOWEST = 15_000;
const HIGHEST = 29_999;

/** They stay reserved, because servers may be restarted. */
const taken = new Set<number>();

/** Random, because other processes look for ports too. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST + 1));
    if (taken.has(port) || !(await isFree(port))) continue;
    taken.add(port);
    ports.push(port);
  }
  return ports;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
