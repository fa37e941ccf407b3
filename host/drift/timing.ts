/** Milliseconds. */
export interface DriftTiming {
  /** From the first touch to the check: a file is written in several steps. */
  readonly quiet: number;
  /**
   * From a start of the kubelet to the report: its Node is registered by then. A crashing kubelet
   * starts often.
   */
  readonly registered: number;
  readonly everything: number;
  readonly busy: number;
  /** Between two reports of the same drift, and two attempts to repair it. */
  readonly again: number;
  /** After a refused report; doubled each time up to `longestRetry`. */
  readonly retry: number;
  readonly longestRetry: number;
  /** Until the first accepted report: the node may have just joined. */
  readonly longestFirst: number;
}

export const DRIFT_TIMING: DriftTiming = {
  quiet: 200,
  registered: 10_000,
  everything: 3_600_000,
  busy: 5_000,
  again: 60_000,
  retry: 1_000,
  longestRetry: 60_000,
  longestFirst: 10_000,
};
