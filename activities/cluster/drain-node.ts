import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import {
  isOnlyNode,
  type DrainPods,
  type DrainProgress,
  type EvictionOutcome,
  type Pod,
} from '../../core/drain';
import { fewSentences } from '../../core/few';
import type {
  ClusterActivities,
  DrainedNode,
  DrainNodeInput,
} from '../../workflows/contracts/cluster';
import type { ActivityRun, ClusterPorts } from './ports';
import { lookNow, refuseUnheld } from './check-cordon';
import { knownNode } from './known-node';
import { drainPodsOf } from './nothing-to-drain';
import { showMeanwhile } from './show-meanwhile';
import { tell } from './tell';
import { Wakeups } from './wakeups';

const PARALLEL_EVICTIONS = 10;

/** A cancellation arrives with the reply to a heartbeat, so heartbeats are frequent. */
const HEARTBEAT_MS = 3_000;

/**
 * How long a check of the Node is valid for evictions: much less than the heartbeat timeout, after
 * which another attempt may begin.
 */
const CHECK_VALID_MS = 5_000;

/** An older blocker is shown on the MachineConfigNode, at most this often. */
const SHOW_BLOCKER_AFTER_MS = 10_000;

/**
 * After an outage, an attempt past its deadline waits this long for the list: the pods may have
 * left.
 */
const LISTED_WITHIN_MS = 60_000;

/** As in MCO (drainRequeueFailingThreshold). */
const LONG_DRAIN_MS = 600_000;

const NAMED = 5;

/**
 * Evicts the pods of a cordoned node and waits until they are gone, by UID. Uses only the Eviction
 * API, so disruption budgets hold. Safe to run twice: the deadline counts from `startedAt` in every
 * attempt. Each eviction needs a recent check that this update holds the Node.
 *
 * @throws `DrainTimedOut`, `UncordonedByUser`, `CordonedByUser`, `NodeDeleted`, `UpdateSuperseded`
 */
export function createDrainNode(ports: ClusterPorts): ClusterActivities['drainNode'] {
  return async (input) => {
    const run = ports.run();
    const ended = new AbortController();
    run.signal.throwIfAborted();
    const drain = new Drain(ports, run, input, AbortSignal.any([run.signal, ended.signal]));
    const podWatch = drain.followPods();
    try {
      const drained = await Promise.race([
        drain.untilEmpty(),
        podWatch.then(() => watchEnded(run.signal)),
      ]);
      if (input.isGoingBack !== true) await showMeanwhile(ports, input, 'Applying');
      return drained;
    } finally {
      drain.close();
      ended.abort();
      await podWatch;
    }
  };
}

/** Only cancellation ends the watch of the pods. */
function watchEnded(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  return Promise.reject(new Error('the watch of the pods of the node ended'));
}

class Drain {
  readonly #wakeups: Wakeups;
  readonly #pods: DrainPods;
  readonly #unsubscribe: readonly (() => void)[];
  readonly #deadline: number;
  readonly #begunAt: number;
  #evicting = 0;
  #lastCheck: { readonly at: number; readonly done: Promise<void> } | undefined;
  #failure: Error | undefined;
  #warned = false;
  #isToldLong = false;
  #heartbeatAt = 0;
  #shown = '';
  #shownAt = 0;
  #showing: Promise<void> | undefined;

  constructor(
    readonly ports: ClusterPorts,
    readonly run: ActivityRun,
    readonly input: DrainNodeInput,
    readonly signal: AbortSignal,
  ) {
    const { view } = ports;
    this.#begunAt = run.temporalNow();
    this.#deadline = Date.parse(input.startedAt) + input.drain.timeoutSeconds * 1000;
    this.#wakeups = new Wakeups(run.signal);
    this.#pods = drainPodsOf(ports, { ...input, run }, evictedBefore(run.lastHeartbeat));
    this.#unsubscribe = [
      view.budgets.subscribe(() => {
        this.#pods.budgetsChanged();
        this.#wakeups.ring();
      }),
      view.nodes.subscribe(({ object }) => {
        const isOther = object.metadata.name !== input.node;
        // The last other node may be gone.
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
    this.#tellBegun();
    for (;;) {
      this.run.signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      await refuseUnheld(this.ports, this.input);
      if (this.#pods.isDone() && this.#evicting === 0) break;
      await this.#checkTime();
      this.#warnOnce();
      this.#evictSome();
      this.#reportProgress();
      const dueMs = this.#evicting < PARALLEL_EVICTIONS ? this.#pods.nextDueMs() : HEARTBEAT_MS;
      await this.#wakeups.wait(Math.min(dueMs, HEARTBEAT_MS));
    }
    await this.#showing;
    const result = { evicted: this.#pods.evicted, left: this.#pods.left() };
    this.run.log.info('drained node', { node, config: this.input.config, ...result });
    return result;
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
    const message = `node ${node} was not drained within ${drain.timeoutSeconds} s: ${fewSentences(blockers, { most: NAMED })}`;
    tell(this.ports, await knownNode(this.ports, node), 'Warning', 'FailedToDrain', message);
    throw fail('DrainTimedOut', message, { node, blockers: blockers.slice(0, NAMED) });
  }

  #tellBegun(): void {
    const known = this.ports.view.nodes.get(this.input.node);
    if (known === undefined || this.run.attempt > 1) return;
    tell(this.ports, known, 'Normal', 'Drain', 'Draining node to update config.');
  }

  #warnOnce(): void {
    if (this.#warned) return;
    const warnings = this.#pods.messages('warn');
    if (warnings.length === 0) return;
    this.#warned = true;
    this.run.log.warn('pods are deleted that lose something', {
      node: this.input.node,
      reason: fewSentences(warnings, { most: NAMED }),
    });
  }

  #evictSome(): void {
    for (const pod of this.#pods.take(PARALLEL_EVICTIONS - this.#evicting)) {
      this.#evicting += 1;
      void this.#evict(pod)
        .then((answer) => {
          this.#pods.answered(pod, answer);
        })
        .catch((error: unknown) => {
          this.#failure = error instanceof Error ? error : new Error(messageOf(error));
        })
        .finally(() => {
          this.#evicting -= 1;
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
      await this.#checkNode();
      return await this.ports.pods.evict({ namespace, name, uid }, options);
    } catch (error) {
      // An API server that is absent or just starting.
      const failure = failureName(error);
      if (failure === undefined || FAILURES[failure].kind !== 'transient') throw error;
      return { outcome: 'refused', said: messageOf(error) };
    }
  }

  /**
   * Asks at most every few seconds. After a pause of the machine the cache is old, and only the
   * clock shows it.
   */
  async #checkNode(): Promise<void> {
    const now = this.ports.now();
    if (this.#lastCheck === undefined || !isFresh(this.#lastCheck.at, now)) {
      this.#lastCheck = { at: now, done: refuseUnheld(this.ports, this.input, lookNow) };
    }
    const check = this.#lastCheck;
    try {
      await check.done;
    } catch (error) {
      if (this.#lastCheck === check) this.#lastCheck = undefined;
      throw error;
    }
    if (isFresh(check.at, this.ports.now())) return;
    throw fail('Conflict', `node ${this.input.node} may have changed since it was read`);
  }

  /** Once per attempt. */
  #tellLong(now: number): void {
    const { node, startedAt } = this.input;
    const known = this.ports.view.nodes.get(node);
    const isLong = now - Date.parse(startedAt) >= LONG_DRAIN_MS;
    if (this.#isToldLong || !isLong || known === undefined) return;
    this.#isToldLong = true;
    const blockers = this.#pods.blockers().map(({ blocker }) => blocker);
    const message = `node ${node} is not drained after ${LONG_DRAIN_MS / 1000} s: ${fewSentences(blockers, { most: NAMED })}`;
    tell(this.ports, known, 'Warning', 'DrainThresholdExceeded', message);
  }

  #reportProgress(): void {
    const now = this.run.temporalNow();
    if (now - this.#heartbeatAt < HEARTBEAT_MS - 500) return;
    this.#heartbeatAt = now;
    this.run.heartbeat(this.#pods.progress());
    this.#tellLong(now);
    this.#showBlockers(now);
  }

  /** Shows lasting blockers on the MachineConfigNode, one write at a time. */
  #showBlockers(now: number): void {
    const lasting = this.#pods
      .blockers()
      .filter(({ since }) => now - since >= SHOW_BLOCKER_AFTER_MS)
      .map(({ blocker }) => blocker);
    const message = fewSentences(lasting, { most: NAMED });
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
    const phase = this.input.isGoingBack === true ? 'GoingBack' : 'Draining';
    await showMeanwhile(this.ports, { ...this.input, summary: message }, phase);
  }
}

function isFresh(at: number, now: number): boolean {
  return Math.abs(now - at) < CHECK_VALID_MS;
}

function evictedBefore(lastHeartbeat: unknown): number {
  const progress = lastHeartbeat as Partial<DrainProgress> | undefined | null;
  return typeof progress?.evicted === 'number' ? progress.evicted : 0;
}
