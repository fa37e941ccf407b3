/** Trying again later and later. */

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait after so many failures in a row: twice as long after each, up to the limit. Callers that
 * are many add jitter of their own.
 *
 * @param failures - 1 or more
 */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number): number {
  return Math.min(maxMs, firstMs * 2 ** (failures - 1));
}
