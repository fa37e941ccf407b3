/**
 * Counts how long a node has been Ready, and how long it was waited for. Time without checks, when
 * the API server was absent, counts for neither.
 */

import { unreadyCondition } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import type { AwaitReturnInput } from '../../workflows/contracts/cluster';

type Awaited = Pick<AwaitReturnInput, 'bootId' | 'readySeconds' | 'timeoutSeconds'>;

type Verdict = { readonly isReady: true } | { readonly isReady: false; readonly why: string };

/** Checks are more frequent: a longer gap means that none was possible. */
const LONGEST_GAP_MS = 25_000;

export class ReadyCount {
  /** Undefined = the node is Ready. */
  blocker: string | undefined;
  /** Time in which the node's state was known. */
  waitedMs: number;
  #readyMs = 0;
  /** The node's own time of becoming Ready. */
  #readySince: string | undefined;
  #seenAt: number | undefined;
  /** Checks before this time are out of date. */
  #lostAt = -Infinity;
  readonly #beganAt: number;

  /**
   * @param options.beganAt - no time before it counts, and no verdict uses an earlier check
   *
   * @param options.waitedMs - counted by an earlier attempt
   */
  constructor(
    private readonly awaited: Awaited,
    options: { readonly beganAt: number; readonly waitedMs: number },
  ) {
    this.#beganAt = options.beganAt;
    this.waitedMs = options.waitedMs;
  }

  saw(node: Node, at: number): void {
    if (at < (this.#seenAt ?? this.#lostAt)) return;
    const passedMs = this.#passedMs(at);
    const before = this.#readySince;
    this.blocker = blockerOf(node, this.awaited);
    this.#readySince = this.blocker === undefined ? readySinceOf(node) : undefined;
    this.waitedMs += passedMs;
    // The node may have failed and recovered between two checks.
    const isAsBefore = before !== undefined && before === this.#readySince;
    this.#readyMs = isAsBefore ? this.#readyMs + passedMs : 0;
    this.#seenAt = at;
  }

  /** The node's state is unknown at that time; the next check starts anew. */
  lost(at: number): void {
    this.#seenAt = undefined;
    this.#lostAt = at;
  }

  get isKnown(): boolean {
    return this.#seenAt !== undefined;
  }

  /** Ready for long enough, or not within its time; undefined = neither yet. */
  get verdict(): Verdict | undefined {
    const isNow = this.#seenAt !== undefined && this.#seenAt >= this.#beganAt;
    if (!isNow || this.#missingMs > 0) return undefined;
    return this.blocker === undefined ? { isReady: true } : { isReady: false, why: this.blocker };
  }

  get dueAt(): number {
    if (this.#seenAt === undefined) return -Infinity;
    return Math.max(this.#seenAt, this.#beganAt) + this.#missingMs;
  }

  get #missingMs(): number {
    const ms =
      this.blocker === undefined
        ? this.awaited.readySeconds * 1000 - this.#readyMs
        : this.awaited.timeoutSeconds * 1000 - this.waitedMs;
    return Math.max(0, ms);
  }

  #passedMs(at: number): number {
    if (this.#seenAt === undefined || at - this.#seenAt > LONGEST_GAP_MS) return 0;
    return Math.max(0, at - Math.max(this.#seenAt, this.#beganAt));
  }
}

/** A cordon does not count, because it is the update's own. */
function blockerOf(node: Node, { bootId: expected }: Awaited): string | undefined {
  const bootId = node.status?.nodeInfo?.bootID || undefined;
  if (expected !== undefined && bootId !== expected) {
    return `the kubelet reports boot ${bootId ?? 'none'}, not yet ${expected}`;
  }
  const condition = unreadyCondition(node);
  if (condition === undefined) return undefined;
  const why = [condition.reason, condition.message].filter(Boolean).join(': ');
  return `condition ${condition.type} is ${condition.status}${why === '' ? '' : ` (${why})`}`;
}

function readySinceOf({ status }: Node): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.lastTransitionTime ?? '';
}
