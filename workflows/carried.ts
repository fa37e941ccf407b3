/** What a rollout remembers by node, as the lists that its next run is given, and back. */

import type { NamedReason } from '../core/rollout/index';
import type { PoolRolloutCarry } from './messages';

type UntilInstant = NonNullable<PoolRolloutCarry['orphanedSlots']>;
type Broken = NonNullable<PoolRolloutCarry['broken']>;

export interface LeftBroken {
  /** Instant until which it counts, milliseconds since 1970. */
  readonly until: number;
  /** `resourceVersion` of the Node then: a view that is as new says itself how it is. */
  readonly leftAt?: string;
}

/** RFC 3339. */
export function instant(inMs = 0): string {
  return new Date(Date.now() + inMs).toISOString();
}

export function byNode<T extends { readonly node: string }>(items: readonly T[]): Map<string, T> {
  return new Map(items.map((item) => [item.node, item]));
}

export function instantsByNode(items: UntilInstant = []): Map<string, number> {
  return new Map(items.map(({ node, until }) => [node, Date.parse(until)]));
}

export function withInstants(items: ReadonlyMap<string, number>): UntilInstant {
  return [...items].map(([node, until]) => ({ node, until: new Date(until).toISOString() }));
}

export function brokenByNode(items: Broken = []): Map<string, LeftBroken> {
  return new Map(
    items.map(({ node, until, leftAt }) => [
      node,
      { until: Date.parse(until), ...(leftAt === undefined ? {} : { leftAt }) },
    ]),
  );
}

export function withBroken(items: ReadonlyMap<string, LeftBroken>): Broken {
  return [...items].map(([node, { until, ...left }]) => ({
    ...{ node, until: new Date(until).toISOString() },
    ...left,
  }));
}

export function reasonsByNode(items: readonly NamedReason[] = []): Map<string, string> {
  return new Map(items.map(({ node, reason }) => [node, reason]));
}

export function withReasons(reasons: ReadonlyMap<string, string>): readonly NamedReason[] {
  return [...reasons].map(([node, reason]) => ({ node, reason }));
}
