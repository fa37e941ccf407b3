/** How long a rollout will still take. */

export interface EstimateInput {
  /** Seconds from slot to end of the nodes that finished, newest last. */
  readonly finishedSeconds: readonly number[];
  /** Seconds since their slot of the nodes at work. */
  readonly workingSeconds: readonly number[];
  /** Nodes that still need a slot. */
  readonly pending: number;
  /** Slots that can be in use at once. */
  readonly parallel: number;
}

/** Older nodes say less about what comes: a config change or a full registry changes the pace. */
const WINDOW = 50;

/**
 * Seconds to the end of the rollout, or undefined when no node has finished yet. Takes the median of
 * the last 50 durations, so that one node that hung for an hour does not frighten anybody; a node that
 * is over the median already is taken to be nearly done.
 */
export function remainingSeconds(input: EstimateInput): number | undefined {
  const perNode = median(input.finishedSeconds.slice(-WINDOW));
  if (perNode === undefined) return undefined;
  const left = input.workingSeconds.map((elapsed) => Math.max(0, perNode - elapsed));
  const parallel = Math.max(1, input.parallel);
  const total = left.reduce((sum, seconds) => sum + seconds, 0) + input.pending * perNode;
  // The work spread over all slots, but never less than the longest single piece of it.
  const longest = Math.max(0, ...left, input.pending > 0 ? perNode : 0);
  return Math.round(Math.max(longest, total / parallel));
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return upper === undefined || lower === undefined ? undefined : (lower + upper) / 2;
}
