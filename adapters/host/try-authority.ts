import { isIP } from 'node:net';
import { connect } from 'node:tls';

const TRIAL_MS = 10_000;

/**
 * Opens a TLS connection that trusts these authorities alone, and closes it.
 *
 * @param url - `https://host:port`
 * @param using - PEM; certificate and key of the client where the server wants some
 * @throws what was wrong with the connection
 */
export async function tryAuthority(
  url: string,
  using: { readonly ca: string; readonly cert?: Buffer; readonly key?: Buffer },
): Promise<void> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  await new Promise<void>((resolve, reject) => {
    const socket = connect(
      { host, port: Number(port || 443), ...using, minVersion: 'TLSv1.2', ...nameOf(host) },
      () => {
        socket.destroy();
        resolve();
      },
    );
    socket.setTimeout(TRIAL_MS, () => socket.destroy(new Error('no answer in time')));
    socket.on('error', reject);
  });
}

/** An address is not sent as a server name. */
function nameOf(host: string): { readonly servername?: string } {
  return isIP(host) === 0 ? { servername: host } : {};
}
