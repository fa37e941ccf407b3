/** The end of a process, or of a part of it, as something to wait for. */

import { once } from 'node:events';

/** Resolves when the signal aborts. */
export async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
