/** The one connection to Temporal of all hosts. */

import { Connection } from '@temporalio/client';
import type { Logger } from '../../process/logging';
import { tellSilence, TemporalConnection } from '../../process/temporal/connection';
import {
  type ConnectionOptions,
  connectionOptions,
  firstConnectionOptions,
  RECONNECTS_SOON,
  type TemporalPlace,
} from '../../process/temporal/connection-options';

export interface TemporalLink {
  readonly link: TemporalConnection<Connection>;
  /** Until it is closed. */
  readonly closed: Promise<void>;
}

/** May be unconnected: hosts wait for an absent Temporal. */
export function connectTemporal(
  settings: TemporalPlace & { readonly temporalNamespace: string },
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): TemporalLink {
  const address = settings.temporalAddress;
  const read = (): ConnectionOptions => connectionOptions(settings);
  const target = firstConnectionOptions(settings, log);
  const link = new TemporalConnection(
    {
      address,
      namespace: settings.temporalNamespace,
      searchAttributes: [],
      read,
      connect: (renewed: ConnectionOptions) => Connection.connect(impatient(renewed)),
      log,
    },
    target,
    Connection.lazy(impatient(target)),
  );
  const closed = link.watch(signal, tellSilence(address, log)).then(() => link.close());
  return { link, closed };
}

/** The hosts' own workers try again. */
function impatient(target: ConnectionOptions) {
  return { ...target, interceptors: [], channelArgs: RECONNECTS_SOON };
}
