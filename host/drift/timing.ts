/** How long the watch for drift waits, and for what. */

/** Milliseconds. */
export interface DriftTiming {
  /** From the first touch to the look: writing a file takes several steps. */
  readonly quiet: number;
  /** From a start of the kubelet to the report: its Node is registered by then. One that crashes starts often. */
  readonly registered: number;
  /** Between two looks at everything. */
  readonly everything: number;
  /** After an update was found under way. */
  readonly busy: number;
  /** Between two reports of the same drift, and two thoughts about its repair. */
  readonly again: number;
  /** After a report that was not taken; doubled each time up to the other. */
  readonly retry: number;
  readonly longestRetry: number;
  /** The longest of them before the first report is taken: the node may have just joined. */
  readonly longestFirst: number;
}

/** What it is on a machine. */
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
