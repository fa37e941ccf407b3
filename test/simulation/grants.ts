/**
 * The list of grants of each pool, looked at from outside: none is taken out of it too early, and none stays in it for
 * nothing (I1, I6). For the observer, which shares no decision with the product.
 */

import type { Node } from '../../core/node/types';
import type { Grant } from '../../core/rollout/pool-rollout';
import type { VirtualClock } from './clock';
import { DECIDING_MS, lastRun, type Outages } from './outages';
import { isOurs } from './tries';
import type { Cluster } from './world/cluster';
import { poolOfLabels } from './world/pools';

/** Longer than it takes to see that a run has ended without a word, and to say so on its Node. */
const FOR_NOTHING_MS = 60_000;
const LOOK_MS = 1_000;

interface Told {
  readonly clock: VirtualClock;
  readonly cluster: Cluster;
  readonly outages: Pick<Outages, 'isMovedSince' | 'isOutSince'>;
  /** An update of the node runs: the one that got the grant, or the one that takes it up. */
  readonly isWorkedOn: (node: string) => boolean;
  /** Whether the rollout of a pool is open. */
  readonly isRolling: (pool: string) => boolean;
  readonly onBreak: (invariant: 'I1' | 'I6', what: string) => void;
}

export class Grants {
  /** Since when a grant is there for nothing, by pool and run. */
  private readonly since = new Map<string, number>();
  private lookedAt = -Infinity;
  /** Runs of grants that a person has written: a rollout at rest sees that when it looks next. */
  private readonly byPerson = new Set<string>();

  constructor(private readonly told: Told) {}

  writtenByPerson({ run }: Grant): void {
    this.byPerson.add(run);
  }

  /** @param now - the list without it */
  ended(pool: string, { node: name, uid, run, startedAt }: Grant, now: readonly Grant[]): void {
    const { cluster, clock, outages, onBreak } = this.told;
    const decidedAt = clock.now - DECIDING_MS;
    const node = cluster.nodes.get(name);
    if (node === undefined || node.metadata.uid !== uid) return;
    // The next run of the node has it, or the node has just come back to the pool.
    if (poolOfLabels(node) !== pool || now.some((grant) => grant.node === name)) return;
    if (!isSaidOver(node, run, startedAt)) {
      if (outages.isMovedSince(name, decidedAt)) return;
      onBreak(
        'I1',
        `the grant of ${run} for ${name} is dropped, and its Node does not say that it is over`,
      );
    } else if (outages.isOutSince(name, decidedAt)) {
      onBreak('I1', `the grant of ${run} for ${name} is dropped, and the node does not serve`);
    }
  }

  /** @param isAway - nobody can see to it now */
  look(isAway: boolean): void {
    const { clock, cluster } = this.told;
    if (clock.now - this.lookedAt < LOOK_MS) return;
    this.lookedAt = clock.now;
    const found = new Set<string>();
    for (const [pool, { status }] of cluster.poolRollouts) {
      for (const grant of status?.grants ?? []) {
        if (isAway || !this.told.isRolling(pool) || !this.isForNothing(grant)) continue;
        const key = `${pool} ${grant.run} ${grant.node}`;
        found.add(key);
        this.judge(key, grant);
      }
    }
    for (const key of this.since.keys()) if (!found.has(key)) this.since.delete(key);
  }

  /** @returns a sentence for each grant that is left when all is done */
  wrongAtRest(): readonly string[] {
    return [...this.told.cluster.poolRollouts].flatMap(([pool, { status }]) =>
      (status?.grants ?? [])
        .filter(({ node, run, startedAt }) => {
          const known = this.told.cluster.nodes.get(node);
          const isOver = known === undefined || isSaidOver(known, run, startedAt);
          return !isOver && !this.byPerson.has(run);
        })
        .map(({ node, run }) => `pool ${pool} rests with a grant of ${run} for ${node}`),
    );
  }

  private judge(key: string, { node, run }: Grant): void {
    const { clock, onBreak } = this.told;
    const since = this.since.get(key) ?? clock.now;
    this.since.set(key, since);
    if (clock.now - since <= FOR_NOTHING_MS) return;
    this.since.set(key, Infinity);
    const seconds = FOR_NOTHING_MS / 1000;
    onBreak('I6', `${run} has had a grant for ${node} for ${seconds} s, and does not run`);
  }

  /** Its run is over without a word, no other one has taken it up, and it has left no cordon. */
  private isForNothing({ node: name, run, startedAt }: Grant): boolean {
    const { cluster, isWorkedOn } = this.told;
    const node = cluster.nodes.get(name);
    if (isWorkedOn(name) || this.byPerson.has(run)) return false;
    // It ends with the next step of its pool, and nobody waits for that as long as it is at rest.
    if (node === undefined || isSaidOver(node, run, startedAt)) return false;
    return !isOurs(node);
  }
}

function isSaidOver(node: Node, run: string, startedAt: string): boolean {
  const last = lastRun(node);
  return last?.isOver === true && (last.run === run || last.startedAt > startedAt);
}
