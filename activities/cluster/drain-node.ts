import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import { isOnlyNode, type Pod } from '../../core/drain';
import { NodePhase } from '../../core/node/lifecycle';
import type {
  ClusterActivities,
  DrainedNode,
  DrainNodeInput,
  DrainProgress,
} from '../../workflows/cluster-contracts';
import type { ActivityRun, ClusterPorts, EvictionOutcome } from './ports';
import { refuseUnheld, refuseUnheldNow } from './check-cordon';
import { DrainPods } from './drain-pods';
import { knownNode } from './known-node';
import { missingDaemonSets } from './missing-daemon-sets';
import { showPhase } from './show-phase';
import { tell } from './node-events';
import { Wakeups } from './wakeups';

/** Evictions of one node under way at once. */
const PARALLEL_EVICTIONS = 10;

/** Cancellation arrives in the reply to a heartbeat, so heartbeats come often. */
const HEARTBEAT_MS = 3_000;

/**
 * How long a look at the Node holds for evictions. Much less than a heartbeat may be missed for, so that
 * whoever looked this long ago has not been given up since.
 */
const LOOK_HOLDS_MS = 5_000;

/** A blocker older than this is shown on the MachineConfigNode, at most this often. */
const SHOW_BLOCKER_AFTER_MS = 10_000;

/**
 * An attempt that comes late, as after an outage, sees whether the pods have left meanwhile before it gives up on
 * them: for so long it waits to be told which are there.
 */
const LISTED_WITHIN_MS = 60_000;

/** Blockers named in a message. */
const NAMED = 5;

/**
 * Evicts the pods of a cordoned node and waits until they are gone, by UID. Pods leave through the
 * Eviction API only, so disruption budgets hold. Safe to run twice: it begins with what is there,
 * and the deadline counts from `startedAt` whichever attempt this is. Nothing is evicted before the
 * Node has just shown that this update has it.
 *
 * @throws `DrainTimedOut`, `UncordonedByUser`, `CordonedByUser`, `NodeDeleted`, `UpdateSuperseded`
 */
export function createDrainNode(ports: ClusterPorts): ClusterActivities['drainNode'] {
  return async (input) => {
    const run = ports.run();
    const following = new AbortController();
    const stop = (): void => {
      following.abort(run.signal.reason);
    };
    run.signal.throwIfAborted();
    run.signal.addEventListener('abort', stop);
    const drain = new Drain(ports, run, input, following.signal);
    const follow = drain.followPods();
    try {
      return await Promise.race([drain.untilEmpty(), follow.then(() => neverEnds(run.signal))]);
    } finally {
      run.signal.removeEventListener('abort', stop);
      drain.close();
      following.abort();
      await follow;
    }
  };
}

/** Following ends only when it is aborted; then the cancellation is what counts. */
function neverEnds(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  return Promise.reject(new Error('watching the pods of the node ended by itself'));
}

class Drain {
  readonly #wakeups: Wakeups;
  readonly #pods: DrainPods;
  readonly #unsubscribe: readonly (() => void)[];
  readonly #deadline: number;
  readonly #begunAt: number;
  #asking = 0;
  #look: { readonly at: number; readonly done: Promise<void> } | undefined;
  #failure: Error | undefined;
  #warned = false;
  #heartbeatAt = 0;
  #shown = '';
  #shownAt = 0;
  #showing: Promise<void> | undefined;

  constructor(
    readonly ports: ClusterPorts,
    readonly run: ActivityRun,
    readonly input: DrainNodeInput,
    /** Ends with the activity, however it ends. */
    readonly signal: AbortSignal,
  ) {
    const { view } = ports;
    this.#begunAt = run.temporalNow();
    this.#deadline = Date.parse(input.startedAt) + input.drain.timeoutSeconds * 1000;
    this.#wakeups = new Wakeups(run.signal);
    this.#pods = new DrainPods(input.drain, evictedBefore(run.lastHeartbeat), {
      node: input.node,
      isOnlyNode: () => isOnlyNode(input.node, view.nodes.list()),
      budgets: () => view.budgets.list(),
      missingDaemonSets: (pods) => missingDaemonSets(view, pods),
      now: run.temporalNow,
    });
    this.#unsubscribe = [
      view.budgets.subscribe(() => {
        this.#pods.budgetsChanged();
        this.#wakeups.ring();
      }),
      view.nodes.subscribe(({ object }) => {
        const isOther = object.metadata.name !== input.node;
        // The last other one may have gone.
        if (!isOther || isOnlyNode(input.node, view.nodes.list())) this.#wakeups.ring();
      }),
    ];
  }

  followPods(): Promise<void> {
    return this.ports.pods.follow(
      this.input.node,
      {
        listed: (pods) => {
          this.#pods.listed(pods);
          this.#wakeups.ring();
        },
        changed: (pod, isGone) => {
          this.#pods.changed(pod, isGone);
          this.#wakeups.ring();
        },
        heard: () => {
          this.#pods.heard();
        },
        failed: (reason) => {
          this.#pods.failed(reason);
        },
      },
      this.signal,
    );
  }

  async untilEmpty(): Promise<DrainedNode> {
    const { node } = this.input;
    this.run.log.info('draining node', { node, config: this.input.config });
    for (;;) {
      this.run.signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      await refuseUnheld(this.ports, this.input);
      if (this.#pods.isDone() && this.#asking === 0) break;
      await this.#checkTime();
      this.#warnOnce();
      this.#evictSome();
      this.#reportProgress();
      await this.#wakeups.wait(this.#asking < PARALLEL_EVICTIONS ? this.#dueMs() : HEARTBEAT_MS);
    }
    await this.#showing;
    const result = { evicted: this.#pods.evicted, left: this.#pods.left() };
    this.run.log.info('drained node', { node, config: this.input.config, ...result });
    return result;
  }

  #dueMs(): number {
    return Math.min(this.#pods.nextDueMs(), HEARTBEAT_MS);
  }

  close(): void {
    this.#unsubscribe.forEach((unsubscribe) => {
      unsubscribe();
    });
    this.#wakeups.close();
  }

  async #checkTime(): Promise<void> {
    const now = this.run.temporalNow();
    if (now < this.#deadline) return;
    if (!this.#pods.isListed && now < this.#begunAt + LISTED_WITHIN_MS) return;
    const { node, drain } = this.input;
    const blockers = this.#pods.blockers().map(({ blocker }) => blocker);
    const message = `node ${node} was not drained within ${drain.timeoutSeconds} s: ${some(blockers)}`;
    await tell(this.ports, await knownNode(this.ports, node), 'Warning', 'FailedToDrain', message);
    throw fail('DrainTimedOut', message, { node, blockers: blockers.slice(0, NAMED) });
  }

  #warnOnce(): void {
    if (this.#warned) return;
    const warnings = this.#pods.messages('warn');
    if (warnings.length === 0) return;
    this.#warned = true;
    this.run.log.warn('pods are deleted that lose something', {
      node: this.input.node,
      reason: some(warnings),
    });
  }

  #evictSome(): void {
    for (const pod of this.#pods.take(PARALLEL_EVICTIONS - this.#asking)) {
      this.#asking += 1;
      void this.#evict(pod)
        .then((answer) => {
          this.#pods.answered(pod, answer);
        })
        .catch((error: unknown) => {
          this.#failure = error instanceof Error ? error : new Error(messageOf(error));
        })
        .finally(() => {
          this.#asking -= 1;
          this.#wakeups.ring();
        });
    }
  }

  async #evict(pod: Pod): Promise<EvictionOutcome> {
    const { namespace = '', name, uid = '' } = pod.metadata;
    const { gracePeriodSeconds } = this.input.drain;
    const options = {
      signal: this.signal,
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    };
    try {
      await this.#refuseUnheld();
      return await this.ports.pods.evict({ namespace, name, uid }, options);
    } catch (error) {
      // An API server that is away, or has just started and knows nobody yet: ask again later.
      const failure = failureName(error);
      if (failure === undefined || FAILURES[failure].kind !== 'transient') throw error;
      return { outcome: 'refused', said: messageOf(error) };
    }
  }

  /**
   * Asks the API server, once for the evictions of a few seconds: memory may be as old as a stand-still, also of
   * the whole machine, which only the clock of the worker tells.
   */
  async #refuseUnheld(): Promise<void> {
    const now = this.ports.now();
    if (this.#look === undefined || !isFresh(this.#look.at, now)) {
      this.#look = { at: now, done: refuseUnheldNow(this.ports, this.input) };
    }
    const look = this.#look;
    try {
      await look.done;
    } catch (error) {
      if (this.#look === look) this.#look = undefined;
      throw error;
    }
    if (isFresh(look.at, this.ports.now())) return;
    throw fail('Conflict', `node ${this.input.node} may have changed since it was looked at`);
  }

  #reportProgress(): void {
    const now = this.run.temporalNow();
    if (now - this.#heartbeatAt < HEARTBEAT_MS - 500) return;
    this.#heartbeatAt = now;
    this.run.heartbeat(this.#pods.progress());
    this.#showBlockers(now);
  }

  /** On the MachineConfigNode: only what lasts, only when it changes, one write at a time. */
  #showBlockers(now: number): void {
    const lasting = this.#pods
      .blockers()
      .filter(({ since }) => now - since >= SHOW_BLOCKER_AFTER_MS)
      .map(({ blocker }) => blocker);
    const message = some(lasting);
    const isTooSoon = now - this.#shownAt < SHOW_BLOCKER_AFTER_MS;
    if (message === '' || message === this.#shown || isTooSoon) return;
    if (this.#showing !== undefined) return;
    this.#shown = message;
    this.#shownAt = now;
    this.run.log.info('drain is waiting', { node: this.input.node, reason: message });
    this.#showing = this.#show(message).finally(() => {
      this.#showing = undefined;
    });
  }

  async #show(message: string): Promise<void> {
    const { node: name, pool, config } = this.input;
    try {
      const node = await knownNode(this.ports, name);
      const phase = NodePhase.DRAINING;
      await showPhase(this.ports, { node, pool, config, phase, message, mayBeLate: true });
    } catch (error) {
      // The heartbeat carries the same words; the drain goes on.
      this.run.log.debug('blocker is not shown', { node: name, reason: messageOf(error) });
    }
  }
}

function isFresh(at: number, now: number): boolean {
  return Math.abs(now - at) < LOOK_HOLDS_MS;
}

function evictedBefore(lastHeartbeat: unknown): number {
  const progress = lastHeartbeat as Partial<DrainProgress> | undefined | null;
  return typeof progress?.evicted === 'number' ? progress.evicted : 0;
}

/** The first few, and how many more. */
function some(sentences: readonly string[]): string {
  const shown = sentences.slice(0, NAMED).join('; ');
  return sentences.length > NAMED ? `${shown}; and ${sentences.length - NAMED} more` : shown;
}
