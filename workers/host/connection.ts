import { readFile } from 'node:fs/promises';
import { NativeConnection } from '@temporalio/worker';
import { trustedAuthorities } from '../../adapters/host';
import { withoutNoise } from '../../process/host/without-noise';
import type { HostTemporalSettings, NodeCredentials } from './settings';
import type { Logger } from '../../process/logging';
import { TemporalConnection } from '../../process/temporal/connection';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import {
  type ConnectionOptions,
  connectionOptions,
} from '../../process/temporal/connection-options';

export type HostConnection = TemporalConnection<NativeConnection>;

/** Files, looked for and read at each connection: those of the host endpoint. */
export interface HostIdentity extends NodeCredentials {
  readonly learnedAuthorityFile: string;
}

interface Connecting {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Limit for the first answer; also ends the work. */
  readonly deadline?: AbortSignal;
  /** For the gateway. */
  readonly identity: HostIdentity | undefined;
}

/**
 * Connects, waiting for an absent server and for the certificate of the kubelet, and closes
 * afterwards.
 *
 * @returns true when the deadline passed
 */
export async function connected(
  settings: HostTemporalSettings,
  { signal, log, deadline, identity }: Connecting,
  work: (link: HostConnection) => Promise<void>,
): Promise<boolean> {
  installTemporalRuntime(withoutNoise(log));
  if (identity === undefined) {
    log.warn(
      { setting: 'gatewayAddress' },
      'this host talks to Temporal itself; whoever steals its credentials commands other hosts',
    );
  }
  let link: HostConnection | undefined;
  const isOver = (): boolean => !signal.aborted && deadline?.aborted === true;
  const { temporalAddress: address } = settings;
  try {
    link = await TemporalConnection.open(
      {
        address,
        namespace: settings.temporalNamespace,
        searchAttributes: [],
        read: () =>
          identity === undefined ? connectionOptions(settings) : gatewayOptions(address, identity),
        waitsForFiles: identity !== undefined,
        connect: (target: ConnectionOptions) => NativeConnection.connect(target),
        log,
      },
      deadline === undefined ? signal : AbortSignal.any([signal, deadline]),
    );
    await work(link);
    return isOver();
  } catch (error) {
    if (signal.aborted) log.debug('stopped while it waited');
    else if (isOver()) return true;
    else throw error;
    return false;
  } finally {
    await link?.close();
  }
}

/** @throws an Error that names a missing file */
async function gatewayOptions(address: string, identity: HostIdentity): Promise<ConnectionOptions> {
  const [crt, key, authorities] = await Promise.all([
    readFile(identity.certificateFile),
    readFile(identity.keyFile),
    trustedAuthorities(identity),
  ]);
  const serverRootCACertificate = Buffer.from(authorities.join('\n'));
  return { address, tls: { serverRootCACertificate, clientCertPair: { crt, key } } };
}
