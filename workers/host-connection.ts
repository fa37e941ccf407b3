/**
 * The connection of a host worker to Temporal: waited for, closed in order, and made anew when the
 * certificate has been renewed, as the kubelet renews its own.
 */

import { isDeepStrictEqual } from 'node:util';
import { NativeConnection } from '@temporalio/worker';
import { messageOf } from '../core/errors';
import { withoutNoise } from './host-log';
import type { HostTemporalSettings } from './host-settings';
import type { Logger } from './logging';
import { installTemporalRuntime } from './temporal-runtime';
import { untilAvailable } from './waiting';

/** Certificates live for months; a renewed one is used within this time, long before the old one ends. */
const LOOK_MS = 60_000;

interface Connecting {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Until when there must be an answer; ends the work, too. */
  readonly deadline?: AbortSignal;
}

/**
 * Connects, waiting if need be, and closes afterwards. A stop while waiting is no failure.
 *
 * @returns true when the deadline passed
 */
export async function connected(
  settings: HostTemporalSettings,
  { signal, log, deadline }: Connecting,
  work: (connection: NativeConnection) => Promise<void>,
): Promise<boolean> {
  installTemporalRuntime(withoutNoise(log));
  let connection: NativeConnection | undefined;
  const isOver = (): boolean => !signal.aborted && deadline?.aborted === true;
  try {
    connection = await untilAvailable(
      `Temporal at ${settings.temporalAddress}`,
      () =>
        NativeConnection.connect({
          address: settings.temporalAddress,
          ...(settings.temporalTls === undefined ? {} : { tls: settings.temporalTls }),
        }),
      { log, signal: deadline === undefined ? signal : AbortSignal.any([signal, deadline]) },
    );
    await work(connection);
    return isOver();
  } catch (error) {
    if (signal.aborted) log.debug('stopped while it waited');
    else if (isOver()) return true;
    else throw error;
    return false;
  } finally {
    await connection?.close();
  }
}

/**
 * Calls `serve` with the settings and a signal that also aborts when the certificates have changed;
 * then again with the new ones. Running activities end before: what they do is not cut off.
 *
 * @param read - reads the settings and the files that they name again
 * @param serve - false = it is over
 */
export async function withRenewals<Settings extends HostTemporalSettings>(
  first: Settings,
  read: () => Settings,
  { signal, log }: Pick<Connecting, 'signal' | 'log'>,
  serve: (settings: Settings, signal: AbortSignal) => Promise<boolean>,
): Promise<void> {
  let settings = first;
  for (;;) {
    const renewed = new AbortController();
    let next = settings;
    const timer = setInterval(() => {
      const found = readAgain(settings, read, log);
      if (found === undefined) return;
      next = found;
      renewed.abort();
    }, LOOK_MS);
    timer.unref();
    try {
      const goesOn = await serve(settings, AbortSignal.any([signal, renewed.signal]));
      if (!goesOn || signal.aborted || !renewed.signal.aborted) return;
    } finally {
      clearInterval(timer);
    }
    log.info('certificate for Temporal renewed, connecting again');
    settings = next;
  }
}

/** The settings, if their certificates are others now; half-written files are looked at again later. */
function readAgain<Settings extends HostTemporalSettings>(
  settings: Settings,
  read: () => Settings,
  log: Logger,
): Settings | undefined {
  if (settings.temporalTls === undefined || settings.temporalTls === true) return undefined;
  try {
    const found = read();
    return isDeepStrictEqual(found.temporalTls, settings.temporalTls) ? undefined : found;
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'certificate for Temporal cannot be read again');
    return undefined;
  }
}
