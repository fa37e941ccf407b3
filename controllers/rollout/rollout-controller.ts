/**
 * Keeps a rollout open for every pool whose nodes are behind, aims it at the pool's config, and
 * wakes it when the cluster changes. It has no state, so it survives restarts and the loss of
 * Temporal's database.
 */

import { MACHINE_CONFIG_POOLS } from '../../adapters/kube/resources';
import type { CacheEvent } from '../../adapters/kube/cache';
import type { Log } from '../../adapters/kube/transport';
import { failureName, messageOf } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { Node } from '../../core/node/types';
import { nodesOfPool, poolsForNode, poolsWithOtherNodes } from '../../core/pool/membership';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { controlPlaneOf } from '../../core/rollout';
import type { ClusterNews } from '../../workflows/messages';
import { versionsOf } from '../../workflows/picture-age';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { ControllerMetrics } from '../metrics';
import { tellFailure, WorkQueue } from '../work-queue';
import { decideRollout, type RolloutDecision } from './decision';
import { controlPlaneNewsFor, newsFor, type NodeChange } from './node-interest';
import type { RolloutGateway } from './rollout-gateway';

/** A later wake-up loses slot time; an earlier one reports each change alone. */
const COALESCING = { quietMs: 100, longestMs: 500 };

/** Nodes wait for Temporal, so it is asked again soon. */
const BACKOFF = { firstMs: 250, maxMs: 5_000 };

/** How often an open rollout is looked for. */
const CHECK_MS = 10_000;

/** The watch may not show yet what an ended rollout has written. */
const SETTLE_MS = 1_000;

interface RolloutDeps {
  readonly picture: ClusterPicture;
  readonly gateway: RolloutGateway;
  /** From the API, because the watch may be behind; undefined = gone. */
  readonly readPool: (name: string) => Promise<MachineConfigPool | undefined>;
  readonly events: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  readonly checkMs?: number;
  readonly settleMs?: number;
}

export class RolloutController {
  readonly #deps: RolloutDeps;
  readonly #queue: WorkQueue;
  /** By pool: the target of its open rollout. */
  readonly #announced = new Map<string, string>();
  /** By pool; the same words twice count twice. */
  readonly #news = new Map<string, ClusterNews>();
  /** Pools without a rollout at the last run. */
  readonly #missing = new Set<string>();
  #temporalAway = false;

  constructor(deps: RolloutDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#queue = new WorkQueue(
      {
        work: (pool) => this.#sync(pool),
        onFailure: (failure) => {
          const text = 'checking a rollout failed; will try again';
          tellFailure(deps.log, failure, text, this.#temporalAway || undefined);
        },
        ...COALESCING,
        backoff: BACKOFF,
      },
      leading,
    );
    const { pools, nodes, policies } = deps.picture;
    const subscriptions = [
      pools.subscribe((event) => {
        this.#poolChanged(event);
      }),
      nodes.subscribe((event) => {
        this.#nodeChanged(event);
      }),
      policies.subscribe((event: CacheEvent<RolloutPolicy>) => {
        this.#hear(event.object.metadata.name, 'the rollout policy changed');
      }),
    ];
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    for (const pool of pools.list()) this.#queue.add(pool.metadata.name);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #poolChanged(event: CacheEvent<MachineConfigPool>): void {
    const { name } = event.object.metadata;
    if (event.type === 'deleted') this.#hear(name, 'the pool is gone');
    else if (event.type === 'added') this.#queue.add(name);
    else if (relevantPart(event.previous) !== relevantPart(event.object)) {
      this.#hear(name, 'the pool changed');
    }
    if (takesOtherNodes(event)) this.#tellOthers(event);
  }

  /** When a pool takes or releases nodes, the other pool gets no event of its own. */
  #tellOthers(event: CacheEvent<MachineConfigPool>): void {
    const { name } = event.object.metadata;
    const { pools, nodes } = this.#deps.picture;
    const others = pools.list().filter(({ metadata }) => metadata.name !== name);
    const before = event.type === 'modified' ? event.previous : event.object;
    const was = event.type === 'added' ? others : [...others, before];
    const is = event.type === 'deleted' ? others : [...others, event.object];
    for (const pool of poolsWithOtherNodes(nodes.list(), was, is)) {
      if (pool !== name) this.#hear(pool, `pool ${name} has other nodes`);
    }
  }

  #nodeChanged(event: CacheEvent<Node>): void {
    const change = {
      ...(event.type === 'added'
        ? {}
        : { previous: event.type === 'modified' ? event.previous : event.object }),
      ...(event.type === 'deleted' ? {} : { current: event.object }),
    };
    this.#tellControlPlane(change);
    const news = newsFor(change);
    if (news === undefined) return;
    const concerned = [change.previous, change.current].flatMap((node) =>
      node === undefined ? [] : this.#poolsOf(node),
    );
    for (const pool of new Set(concerned)) this.#hear(pool, news);
  }

  /** Pools with control-plane nodes wait for one another. */
  #tellControlPlane(change: NodeChange): void {
    const news = controlPlaneNewsFor(change);
    if (news === undefined) return;
    const nodes = controlPlaneOf(this.#deps.picture.nodes.list());
    for (const pool of new Set(nodes.flatMap((node) => this.#poolsOf(node)))) {
      this.#hear(pool, news);
    }
  }

  /** The primary pool, and the one to which the node may fall back. */
  #poolsOf(node: Node): readonly string[] {
    try {
      const { pools } = poolsForNode(node, this.#deps.picture.pools.list());
      return pools.map(({ metadata }) => metadata.name);
    } catch (error) {
      this.#deps.log.debug(
        { node: node.metadata.name, reason: messageOf(error) },
        'node is in no pool',
      );
      return [];
    }
  }

  #hear(pool: string, reason: string): void {
    this.#news.set(pool, { reason, versions: versionsOf(this.#deps.picture) });
    this.#queue.add(pool);
  }

  async #sync(name: string): Promise<void> {
    const { picture } = this.#deps;
    const pool = picture.pools.get(name);
    const news = this.#news.get(name);
    if (pool === undefined) {
      if (news !== undefined) await this.#wake(name, news);
      this.#announced.delete(name);
      this.#queue.forget(name);
    } else {
      await this.#act(pool, this.#decide(pool), news);
    }
    // News of this run stays, and the queue runs again.
    if (this.#news.get(name) === news) this.#news.delete(name);
  }

  #decide(pool: MachineConfigPool): RolloutDecision {
    const { picture } = this.#deps;
    const nodes = nodesOfPool(pool, picture.nodes.list(), picture.pools.list());
    const policy = picture.policies.get(pool.metadata.name);
    return decideRollout({ pool, nodes, ...(policy === undefined ? {} : { policy }) });
  }

  async #act(
    pool: MachineConfigPool,
    decision: RolloutDecision,
    news: ClusterNews | undefined,
  ): Promise<void> {
    const { name } = pool.metadata;
    switch (decision.kind) {
      case 'settled':
        this.#announced.delete(name);
        this.#missing.delete(name);
        // It may have another target, or be halted by a node that is gone.
        if (news !== undefined) await this.#wake(name, news);
        return;
      case 'wait':
        this.#announced.delete(name);
        this.#tellWait(pool, decision);
        if (news !== undefined) await this.#wake(name, news);
        return;
      case 'roll':
        await this.#keepRolling(name, decision.target, news);
        this.#queue.addAfter(name, this.#missing.has(name) ? this.#settleMs : this.#checkMs);
    }
  }

  async #keepRolling(pool: string, target: string, news: ClusterNews | undefined): Promise<void> {
    if (this.#announced.get(pool) !== target) {
      await this.#aim(pool, target);
      return;
    }
    const { gateway } = this.#deps;
    const isOpen =
      news === undefined
        ? await this.#ask(() => gateway.isOpen(pool))
        : await this.#wake(pool, news);
    if (isOpen) this.#missing.delete(pool);
    else if (this.#missing.has(pool)) await this.#aim(pool, target);
    else this.#missing.add(pool);
  }

  async #aim(pool: string, target: string): Promise<void> {
    const { gateway, metrics, log, picture } = this.#deps;
    const versions = versionsOf(picture);
    const isOpen = await this.#ask(() => gateway.retarget(pool, target, versions));
    if (!isOpen && !(await this.#stillWants(pool, target))) {
      log.debug({ pool, config: target }, 'not starting a rollout; the pool has changed since');
      // A later run decides with a newer cache.
      this.#missing.add(pool);
      return;
    }
    if (!isOpen) await this.#ask(() => gateway.start(pool, target, versions));
    metrics.rolloutRequested(pool, 'start');
    log.info({ pool, config: target }, 'rollout is aimed at the config');
    this.#announced.set(pool, target);
    this.#missing.delete(pool);
  }

  /**
   * A cancelled rollout marks the pool before it ends, and a watch may show that late. So the pool
   * is read after no rollout is found open.
   */
  async #stillWants(name: string, target: string): Promise<boolean> {
    const pool = await this.#deps.readPool(name);
    if (pool === undefined) return false;
    const decision = this.#decide(pool);
    return decision.kind === 'roll' && decision.target === target;
  }

  async #wake(pool: string, news: ClusterNews): Promise<boolean> {
    const { reason } = news;
    const isOpen = await this.#ask(() => this.#deps.gateway.wake(pool, news));
    if (isOpen) this.#deps.metrics.rolloutRequested(pool, 'wake');
    this.#deps.log.debug({ pool, reason, open: isOpen }, 'reported a change to the rollout');
    return isOpen;
  }

  #tellWait(
    pool: MachineConfigPool,
    { reason, message }: Extract<RolloutDecision, { kind: 'wait' }>,
  ): void {
    const { events, log } = this.#deps;
    const isWrong = reason === 'InvalidPool' || reason === 'InvalidPolicy';
    const subject = { resource: MACHINE_CONFIG_POOLS, object: pool };
    events.record(subject, isWrong ? 'Warning' : 'Normal', reason, message);
    log.debug({ pool: pool.metadata.name, reason: message }, 'not starting a rollout');
  }

  /** An outage of Temporal is logged once. */
  async #ask<T>(call: () => Promise<T>): Promise<T> {
    const { log } = this.#deps;
    try {
      const answer = await call();
      if (this.#temporalAway) log.info({}, 'Temporal answers again');
      this.#temporalAway = false;
      return answer;
    } catch (error) {
      if (failureName(error) !== 'RefusedRequest' && !this.#temporalAway) {
        log.warn({ reason: messageOf(error) }, 'Temporal does not answer; waiting for it');
        this.#temporalAway = true;
      }
      throw error;
    }
  }

  get #checkMs(): number {
    return this.#deps.checkMs ?? CHECK_MS;
  }

  get #settleMs(): number {
    return this.#deps.settleMs ?? SETTLE_MS;
  }
}

/** The change may move nodes between pools. */
function takesOtherNodes(event: CacheEvent<MachineConfigPool>): boolean {
  if (event.type !== 'modified') return true;
  const [before, after] = [event.previous, event.object].map(({ spec }) =>
    JSON.stringify(spec.nodeSelector),
  );
  return before !== after;
}

/** The parts on which a rollout acts. */
function relevantPart({ metadata, spec }: MachineConfigPool): string {
  return JSON.stringify([
    spec.configuration?.name,
    spec.paused,
    spec.maxUnavailable,
    spec.nodeSelector,
    metadata.deletionTimestamp,
    metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED],
    metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED],
  ]);
}
