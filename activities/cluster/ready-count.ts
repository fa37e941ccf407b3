/**
 * How long a node has been Ready, and how long it has been waited for. What is seen of it at two moments counts
 * for the time between them. A time in which nobody could see it, because the API server was away, counts for
 * neither: a node is not called late for it, and not proven by it.
 */

import { unreadyCondition } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import type { AwaitReadyInput } from '../../workflows/cluster-contracts';

type Awaited = Pick<AwaitReadyInput, 'bootId' | 'readySeconds' | 'timeoutSeconds'>;

export type Verdict =
  { readonly isReady: true } | { readonly isReady: false; readonly why: string };

/** Who looks does so more often: between looks that are further apart nobody could. */
const LONGEST_GAP_MS = 25_000;

export class ReadyCount {
  /** What is still missing, in words; undefined = the node is Ready. */
  blocker: string | undefined;
  /** All the time in which the node was seen, Ready or not. */
  waitedMs: number;
  #readyMs = 0;
  /** Since when the node itself says that it is Ready. */
  #readySince: string | undefined;
  /** When it was seen last; undefined = nobody knows how it is. */
  #seenAt: number | undefined;
  /** What was seen before says nothing any more. */
  #lostAt = -Infinity;
  readonly #beganAt: number;

  /**
   * @param options.beganAt - no time before it counts, and nothing is decided on what was seen before
   * @param options.waitedMs - what an earlier attempt has counted
   */
  constructor(
    private readonly awaited: Awaited,
    options: { readonly beganAt: number; readonly waitedMs: number },
  ) {
    this.#beganAt = options.beganAt;
    this.waitedMs = options.waitedMs;
  }

  /** The node was like this at that time. */
  saw(node: Node, at: number): void {
    if (at < (this.#seenAt ?? this.#lostAt)) return;
    const passedMs = this.#passedMs(at);
    const before = this.#readySince;
    this.blocker = blockerOf(node, this.awaited);
    this.#readySince = this.blocker === undefined ? readySinceOf(node) : undefined;
    this.waitedMs += passedMs;
    // It may have fallen over and come back between two looks.
    const isAsBefore = before !== undefined && before === this.#readySince;
    this.#readyMs = isAsBefore ? this.#readyMs + passedMs : 0;
    this.#seenAt = at;
  }

  /** Nobody could see the node at that time; the next look goes on from where it is. */
  lost(at: number): void {
    this.#seenAt = undefined;
    this.#lostAt = at;
  }

  /** Whether it is known how the node is. */
  get isKnown(): boolean {
    return this.#seenAt !== undefined;
  }

  /** Ready for long enough, or not within its time; undefined = neither yet. */
  get verdict(): Verdict | undefined {
    const isNow = this.#seenAt !== undefined && this.#seenAt >= this.#beganAt;
    if (!isNow || this.#missingMs > 0) return undefined;
    return this.blocker === undefined ? { isReady: true } : { isReady: false, why: this.blocker };
  }

  /** When a look decides, if the node stays as it is. */
  get dueAt(): number {
    if (this.#seenAt === undefined) return -Infinity;
    return Math.max(this.#seenAt, this.#beganAt) + this.#missingMs;
  }

  get #missingMs(): number {
    const { readySeconds, timeoutSeconds } = this.awaited;
    const ms =
      this.blocker === undefined
        ? readySeconds * 1000 - this.#readyMs
        : timeoutSeconds * 1000 - this.waitedMs;
    return Math.max(0, ms);
  }

  #passedMs(at: number): number {
    if (this.#seenAt === undefined || at - this.#seenAt > LONGEST_GAP_MS) return 0;
    return Math.max(0, at - Math.max(this.#seenAt, this.#beganAt));
  }
}

/** What is still missing; a cordon does not count, since it is our own. */
function blockerOf(node: Node, { bootId: expected }: Awaited): string | undefined {
  const bootId = node.status?.nodeInfo?.bootID;
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
