/** Growing delays between retries. */

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * The delay after so many failures in a row: it doubles each time, up to the limit. Many callers at
 * once add jitter themselves.
 *
 * @param failures - 1 or more
 */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** (failures - 1));
}
