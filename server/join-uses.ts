/** Records when tokens were last used: no machine waits for it. */

import { failureName, messageOf } from '../core/errors';
import { JOIN_TOKEN_USE_SECONDS } from '../core/join';
import { rfc3339 } from '../core/rfc3339';

/** RFC 3339. @throws `ObjectNotFound`, `ApiUnavailable` */
type WriteTokenUse = (tokenId: string, at: string) => Promise<void>;

interface JoinUses {
  note(tokenId: string): void;
  /** After one last attempt to write. */
  stop(): Promise<void>;
}

interface Log {
  warn(fields: object, message: string): void;
}

interface JoinUsesOptions {
  readonly write: WriteTokenUse;
  /** The last use written by any server (RFC 3339). */
  readonly known?: (tokenId: string) => string | undefined;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Entry {
  pending: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

const INTERVAL_MS = JOIN_TOKEN_USE_SECONDS * 1000;

/**
 * Writes the first use at once, and the last one of each following minute at its end. While the API
 * server is away, it tries once a minute.
 */
export function createJoinUses({ write, known, log, now }: JoinUsesOptions): JoinUses {
  const entries = new Map<string, Entry>();
  const writing = new Set<Promise<void>>();
  let isStopped = false;

  function flush(tokenId: string, entry: Entry): void {
    const at = entry.pending;
    // The next use is written at once.
    if (at === undefined || isStopped) {
      entries.delete(tokenId);
      return;
    }
    entry.pending = undefined;
    entry.timer = setTimeout(flush, INTERVAL_MS, tokenId, entry);
    entry.timer.unref();
    begin(tokenId, entry, at);
  }

  function begin(tokenId: string, entry: Entry, at: number): void {
    // Another server may have written a later use.
    const instant = rfc3339(at);
    if (Date.parse(known?.(tokenId) ?? '') >= Date.parse(instant)) return;
    const under = write(tokenId, instant).catch((error: unknown) => {
      // The token was revoked.
      if (failureName(error) === 'ObjectNotFound') return;
      entry.pending ??= at;
      log.warn(
        { token: tokenId, reason: messageOf(error) },
        'last use of a join token not written',
      );
    });
    writing.add(under);
    void under.finally(() => writing.delete(under));
  }

  return {
    note(tokenId) {
      if (isStopped) return;
      const noted = entries.get(tokenId);
      if (noted !== undefined) {
        noted.pending = Math.max(noted.pending ?? 0, now());
        return;
      }
      const entry: Entry = { pending: now(), timer: undefined };
      entries.set(tokenId, entry);
      flush(tokenId, entry);
    },
    async stop() {
      isStopped = true;
      for (const { timer } of entries.values()) clearTimeout(timer);
      // An older use must not overwrite a newer one.
      await Promise.all(writing);
      for (const [tokenId, entry] of entries) {
        if (entry.pending !== undefined) begin(tokenId, entry, entry.pending);
      }
      entries.clear();
      await Promise.all(writing);
    },
  };
}
