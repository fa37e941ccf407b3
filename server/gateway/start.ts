/** Makes the gateway listen. */

import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Logger } from '../../process/logging';
import type { TemporalPlace } from '../../process/temporal/connection-options';
import { payloadCodec } from '../../process/temporal/payload-codec';
import type { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { listenAt, type Opened } from '../closing';
import type { ServerSettings } from '../settings';
import { followTls, type HostTls } from '../tls';
import { createGateway } from './endpoint';
import { methodsOfHosts } from './methods';
import { addGatewayMetrics } from './metrics';
import { payloadGate } from './payloads';
import { connectTemporal } from './temporal';
import { tokenKeys } from './token-keys';

interface Starting {
  readonly settings: ServerSettings;
  readonly place: TemporalPlace;
  readonly payloadKeys: PayloadKeyFiles;
  readonly tls: HostTls;
  readonly registry: Registry;
  /** Fires when this process ends. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly opened: Opened[];
}

/**
 * @returns where it listens
 * @throws an Error that names the unusable file, or the port that is taken
 */
export async function startGateway(
  input: Starting,
): Promise<{ address(): AddressInfo | string | null }> {
  const { settings, place, payloadKeys, tls, registry, signal, log, opened } = input;
  const { temporalNamespace: namespace, address: host, gatewayPort: port } = settings;
  const ended = new AbortController();
  const { link, closed } = connectTemporal(
    { ...place, temporalNamespace: namespace },
    { signal: ended.signal, log },
  );
  const gateway = createGateway({
    tls,
    methods: methodsOfHosts({
      temporal: link,
      namespace,
      keys: tokenKeys(payloadKeys),
      payloads: payloadGate(payloadCodec(payloadKeys)),
    }),
    maxConnections: settings.maxGatewayConnections,
    metrics: (now) => addGatewayMetrics(registry, now),
    log,
  });
  const { server } = gateway;
  opened.push({
    name: 'gateway to Temporal',
    // Hosts answer for their tasks to the end.
    close: async () => {
      await gateway.close();
      ended.abort();
      await closed;
    },
    cut: () => {
      gateway.cut();
      ended.abort();
    },
  });
  await listenAt(
    {
      server,
      listen: ({ host: at, port: onPort }) =>
        new Promise((resolve, reject) => {
          server.once('error', reject);
          server.listen(onPort, at, () => resolve(at));
        }),
    },
    { host, port, setting: 'gatewayPort, --gateway-port' },
  );
  followTls(server, fileSettings(settings), { tls, signal, log });
  return server;
}

function fileSettings({ certificateFile, keyFile, clientAuthorityFile = '' }: ServerSettings) {
  return { certificateFile, keyFile, clientAuthorityFile };
}
