import { NativeConnection } from '@temporalio/worker';
import { withoutNoise } from './order-log';
import type { HostTemporalSettings } from './settings';
import type { Logger } from '../../process/logging';
import { TemporalConnection } from '../../process/temporal/connection';
import { installTemporalRuntime } from '../../process/temporal/runtime';
import {
  type ConnectionOptions,
  connectionOptions,
} from '../../process/temporal/connection-options';

export type HostConnection = TemporalConnection<NativeConnection>;

interface Connecting {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Limit for the first answer; also ends the work. */
  readonly deadline?: AbortSignal;
}

/**
 * Connects, waiting for an absent server, and closes afterwards.
 *
 * @returns true when the deadline passed
 */
export async function connected(
  settings: HostTemporalSettings,
  { signal, log, deadline }: Connecting,
  work: (link: HostConnection) => Promise<void>,
): Promise<boolean> {
  installTemporalRuntime(withoutNoise(log));
  let link: HostConnection | undefined;
  const isOver = (): boolean => !signal.aborted && deadline?.aborted === true;
  try {
    link = await TemporalConnection.open(
      {
        address: settings.temporalAddress,
        namespace: settings.temporalNamespace,
        searchAttributes: [],
        read: () => connectionOptions(settings),
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
