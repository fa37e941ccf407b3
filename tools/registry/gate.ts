import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

type Verdict = 'pass' | 'hold' | 'cut' | 'half';

/** Holds or cuts a pull at a chosen blob. */
export interface RegistryGate {
  /** In place of the registry's. */
  readonly address: string;
  readonly asked: readonly string[];
  /**
   * For later requests. `hold` = not answered until `release`, `cut` = the connection breaks,
   * `half` = it breaks in the middle of the content.
   */
  decide(verdict: (digest: string, index: number) => Verdict): void;
  held(): Promise<void>;
  release(): void;
  close(): Promise<void>;
}

/**
 * In this process.
 *
 * @param target - `host:port` of the registry
 * @param host - address to listen on
 */
export async function startGate(target: string, host = '127.0.0.1'): Promise<RegistryGate> {
  let verdict: (digest: string, index: number) => Verdict = () => 'pass';
  let announceHeld: () => void = () => undefined;
  let held = new Promise<void>((resolve) => (announceHeld = resolve));
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((incoming, answer) => {
    const digest = /\/blobs\/(sha256:[0-9a-f]{64})/.exec(incoming.url ?? '')?.[1];
    if (incoming.method !== 'GET' || digest === undefined) return forward(target, incoming, answer);
    asked.push(digest);
    const decision = verdict(digest, asked.length - 1);
    if (decision === 'hold') {
      waiting.push(() => forward(target, incoming, answer));
      announceHeld();
    } else if (decision === 'cut') incoming.socket.destroy();
    else forward(target, incoming, answer, decision === 'half');
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    asked,
    decide(next) {
      verdict = next;
      asked.length = 0;
      held = new Promise<void>((resolve) => (announceHeld = resolve));
    },
    held: () => held,
    release() {
      for (const answer of waiting.splice(0)) answer();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function forward(
  target: string,
  incoming: IncomingMessage,
  answer: ServerResponse,
  half = false,
): void {
  const [host, port] = target.split(':');
  const { method, url: path, headers } = incoming;
  const outgoing = request({ host, port, method, path, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    if (!half) return void response.pipe(answer);
    response.once('data', (chunk: Buffer) => {
      answer.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => answer.destroy());
      response.destroy();
    });
  });
  outgoing.once('error', () => answer.destroy());
  incoming.pipe(outgoing);
}
