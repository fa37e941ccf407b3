/** Mutual TLS in front of a Temporal server; the trusted authority can be changed. */

import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import type { Credentials } from '../../../tools/cluster/certificates';

export interface TlsFront {
  /** `host:port` */
  readonly address: string;
  /** Common names of the clients with an open connection. */
  clients(): readonly string[];
  /** Accepts only clients of this authority; other connections are cut, as after an idle time. */
  onlyTrust(authority: Credentials): void;
  close(): Promise<void>;
}

/** @param target - `host:port` of the server behind it */
export async function startTlsFront(
  target: string,
  server: Credentials,
  authority: Credentials,
): Promise<TlsFront> {
  const open = new Map<TLSSocket, string>();
  const [host = '', port = ''] = target.split(':');
  const context = (ca: Credentials) => ({
    cert: server.certificate,
    key: server.key,
    ca: ca.certificate,
  });
  const options = { requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] };
  const front = createServer({ ...context(authority), ...options }, (client) => {
    open.set(client, String(client.getPeerCertificate().subject.CN));
    const behind = connect(Number(port), host);
    const end = (one: Socket, other: Socket): void => {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    };
    end(client, behind);
    end(behind, client);
    client.on('close', () => open.delete(client));
    client.pipe(behind).pipe(client);
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const client of open.keys()) client.destroy();
  };
  return {
    address: `127.0.0.1:${(front.address() as AddressInfo).port}`,
    clients: () => [...open.values()],
    onlyTrust: (ca) => {
      front.setSecureContext(context(ca));
      cut();
    },
    close: () =>
      new Promise((resolve) => {
        front.close(() => resolve());
        cut();
      }),
  };
}
