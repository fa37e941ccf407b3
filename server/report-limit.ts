/** A flapping disk must not load the API server. */

/** At once; then one in `INTERVAL_MS`. */
const BURST = 10;
const INTERVAL_MS = 2_000;

interface ReportLimit {
  /** Seconds to wait. Only for existing nodes: each is remembered for a while. */
  ask(node: string): number;
}

interface Bucket {
  left: number;
  at: number;
}

/** @param now - monotonic, milliseconds */
export function createReportLimit(now: () => number = () => performance.now()): ReportLimit {
  const buckets = new Map<string, Bucket>();
  return {
    ask(node) {
      const at = now();
      const known = buckets.get(node);
      const left = Math.min(
        BURST,
        known === undefined ? BURST : known.left + (at - known.at) / INTERVAL_MS,
      );
      if (left < 1) return Math.ceil(((1 - left) * INTERVAL_MS) / 1000);
      buckets.delete(node);
      buckets.set(node, { left: left - 1, at });
      forgetFull(buckets, at);
      return 0;
    },
  };
}

/** The oldest come first. A full bucket holds no information. */
function forgetFull(buckets: Map<string, Bucket>, at: number): void {
  for (const [node, bucket] of buckets) {
    if (at - bucket.at < BURST * INTERVAL_MS) return;
    buckets.delete(node);
  }
}
