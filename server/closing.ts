import type { AddressInfo } from 'node:net';
import { messageOf } from '../core/errors';

export interface Opened {
  readonly name: string;
  /** Waits for running work. */
  readonly close: () => Promise<unknown>;
  /** Ends what `close` waits for. */
  readonly cut?: () => void;
}

interface Log {
  warn(fields: object, message: string): void;
}

/** A cut connection closes after a moment. */
const AFTER_CUT_MS = 1_000;

/**
 * After `withinMs`, connections are cut; those that stay even then are logged and left. Never
 * throws, so that one failure keeps nothing open.
 */
export async function closeAll(
  opened: readonly Opened[],
  { withinMs, log }: { readonly withinMs: number; readonly log: Log },
): Promise<void> {
  const left = new Set(opened.map(({ name }) => name));
  const ending = opened.map(async ({ name, close }) => {
    try {
      await close();
    } catch (error) {
      log.warn({ part: name, reason: messageOf(error) }, 'closing failed');
    }
    left.delete(name);
  });
  const timers: NodeJS.Timeout[] = [];
  const given = (ms: number, then: () => void): void => void timers.push(setTimeout(then, ms));
  const outOfTime = new Promise<void>((resolve) => {
    given(withinMs, () => {
      log.warn({ parts: [...left] }, 'cut off: they did not end in time');
      for (const { name, cut } of opened) if (left.has(name)) cut?.();
      given(AFTER_CUT_MS, () => {
        log.warn({ parts: [...left] }, 'left open: they cannot be closed');
        resolve();
      });
    });
  });
  await Promise.race([Promise.all(ending), outOfTime]);
  for (const timer of timers) clearTimeout(timer);
}

interface Listening {
  listen(options: { readonly host: string; readonly port: number }): Promise<string>;
  readonly server: { address(): AddressInfo | string | null };
}

/** @throws an Error that names the address, and the setting to change */
export async function listenAt(
  app: Listening,
  at: { readonly host: string; readonly port: number; readonly setting: string },
): Promise<void> {
  const { host, port, setting } = at;
  try {
    await app.listen({ host, port });
  } catch (error) {
    throw new Error(
      `the server cannot listen on ${host} port ${port} (${setting}): ${messageOf(error)}`,
      { cause: error },
    );
  }
}
