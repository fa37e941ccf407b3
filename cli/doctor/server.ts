/** Whether the server answers at the names and ports that machines use, from where the doctor runs. */

import { connect } from 'node:tls';
import { messageOf } from '../../core/errors';
import { ok, warning, type Finding } from './finding';
import type { DoctorCluster, ServerPlace } from './ports';

const MEND =
  'kubectl -n slipway get pods -l app.kubernetes.io/name=slipway-server -o wide (only these nodes answer)';

/** None where nobody has said the names, or the Service is not there. */
export async function server(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const [names, ports, authorities] = await Promise.all([
    cluster.serverNames(),
    cluster.serverPorts(),
    cluster.serverAuthorities(),
  ]);
  if (authorities === undefined) return [];
  const places = names.flatMap((host) => ports.map((port) => ({ host, port, authorities })));
  return Promise.all(
    places.map(async (place) => {
      const object = `server ${place.host}:${place.port}`;
      const why = await cluster.refusalOf(place);
      if (why === undefined) return ok(object, 'answers');
      return warning(object, `does not answer here: ${why}`, MEND);
    }),
  );
}

const PATIENCE_MS = 5_000;

/** Makes a connection as a machine does, without a certificate. @returns why it could not; undefined = it could */
export function refusalOf({ host, port, authorities }: ServerPlace): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ca: authorities, servername: nameOf(host) });
    const end = (why?: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(why);
    };
    const timer = setTimeout(() => {
      end(`not in ${PATIENCE_MS / 1000} s`);
    }, PATIENCE_MS);
    socket.once('secureConnect', () => {
      end();
    });
    socket.once('error', (error) => {
      end(messageOf(error));
    });
  });
}

/** TLS has no names that are addresses. */
function nameOf(host: string): string {
  return /^[0-9.]+$|:/.test(host) ? '' : host;
}
