/**
 * Keeps a rollout open for every pool whose nodes are behind, and wakes it when the cluster
 * changes. It has no state, so it survives restarts and the loss of Temporal's database.
 */

import { MACHINE_CONFIG_POOLS } from '../../adapters/kube/resources';
import type { CacheEvent } from '../../adapters/kube/cache';
import type { Log } from '../../adapters/kube/transport';
import { messageOf } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import type { Node } from '../../core/node/types';
import { nodesOfPool, poolsForNode, poolsWithOtherNodes } from '../../core/pool/membership';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import { controlPlaneOf } from '../../core/rollout';
import type { SeenVersions } from '../../workflows/contracts/rollout';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { ControllerMetrics } from '../metrics';
import { tellFailure, WorkQueue } from '../work-queue';
import { decideRollout, type RolloutDecision } from './decision';
import { controlPlaneNewsFor, newsFor, type NodeChange } from './node-interest';
import type { RolloutGateway } from './rollout-gateway';

/** Later, nodes would wait for their grants; earlier, each change would be told alone. */
const COALESCING = { quietMs: 100, longestMs: 500 };

/** Nodes wait for Temporal, so it is asked again soon. */
const BACKOFF = { firstMs: 250, maxMs: 5_000 };

/** How often a rollout that must be open is looked for. */
const CHECK_MS = 10_000;

interface RolloutDeps {
  readonly picture: ClusterPicture;
  readonly gateway: RolloutGateway;
  readonly events: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  readonly checkMs?: number;
}

/** An object, because the same words twice are news twice. */
interface News {
  readonly reason: string;
  /** The PoolRollout has to show it, also where no rollout is open. */
  readonly isShown: boolean;
}

export class RolloutController {
  readonly #deps: RolloutDeps;
  readonly #queue: WorkQueue;
  /** By pool: what its rollout has not been told. */
  readonly #news = new Map<string, News>();
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
        this.#hear(event.object.metadata.name, 'the rollout policy changed', true);
      }),
    ];
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    for (const { metadata } of pools.list()) this.#hear(metadata.name, 'the controllers started');
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #poolChanged(event: CacheEvent<MachineConfigPool>): void {
    const { name } = event.object.metadata;
    if (event.type === 'deleted') this.#hear(name, 'the pool is gone');
    else if (event.type === 'added') this.#hear(name, 'the pool is new', true);
    else if (relevantPart(event.previous) !== relevantPart(event.object)) {
      this.#hear(name, 'the pool changed', true);
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
      if (pool !== name) this.#hear(pool, `pool ${name} has other nodes`, true);
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
    const isMember = change.previous !== undefined && change.current !== undefined;
    for (const pool of new Set(concerned)) this.#hear(pool, news, !isMember);
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

  #hear(pool: string, reason: string, isShown = false): void {
    this.#news.set(pool, { reason, isShown: isShown || this.#news.get(pool)?.isShown === true });
    this.#queue.add(pool);
  }

  async #sync(name: string): Promise<void> {
    const pool = this.#deps.picture.pools.get(name);
    const news = this.#news.get(name);
    const decision = pool === undefined ? undefined : this.#decide(pool);
    if (decision?.kind === 'roll' || decision?.kind === 'finish') {
      await this.#keepOpen(name, news);
      this.#queue.addAfter(name, this.#deps.checkMs ?? CHECK_MS);
    } else {
      if (pool !== undefined && decision?.kind === 'wait') this.#tellWait(pool, decision);
      const isReadable = decision !== undefined && !isUnreadable(decision);
      if (news !== undefined) await this.#tell(name, isReadable && news.isShown, news);
    }
    if (pool === undefined) this.#queue.forget(name);
    // News of this run stays, and the queue runs again.
    if (this.#news.get(name) === news) this.#news.delete(name);
  }

  #decide(pool: MachineConfigPool): RolloutDecision {
    const { picture } = this.#deps;
    const nodes = nodesOfPool(pool, picture.nodes.list(), picture.pools.list());
    const policy = picture.policies.get(pool.metadata.name);
    return decideRollout({ pool, nodes, ...(policy === undefined ? {} : { policy }) });
  }

  async #keepOpen(pool: string, news: News | undefined): Promise<void> {
    if (news === undefined && (await this.#isOpen(pool))) return;
    await this.#wake(pool, news?.reason ?? 'no rollout is open');
  }

  /** One that begins with nothing to do writes what its pool is like, and ends. */
  async #tell(pool: string, isShown: boolean, { reason }: News): Promise<void> {
    if (isShown || (await this.#isOpen(pool))) await this.#wake(pool, reason);
  }

  #isOpen(pool: string): Promise<boolean> {
    return this.#ask(() => this.#deps.gateway.isOpen(pool));
  }

  async #wake(pool: string, reason: string): Promise<void> {
    const { gateway, metrics, log, picture } = this.#deps;
    await this.#ask(() => gateway.wake(pool, versionsOf(picture)));
    metrics.rolloutWoken(pool);
    log.debug({ pool, reason }, 'woke the rollout');
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
      if (!this.#temporalAway) {
        log.warn({ reason: messageOf(error) }, 'Temporal does not answer; waiting for it');
        this.#temporalAway = true;
      }
      throw error;
    }
  }
}

/** No rollout can look at its pool. */
function isUnreadable(decision: RolloutDecision): boolean {
  return decision.kind === 'wait' && decision.reason === 'InvalidPolicy';
}

/** What the rollout has to see at least. */
function versionsOf({ nodes, pools, policies }: ClusterPicture): SeenVersions {
  return { nodes: nodes.newest, pools: pools.newest, policies: policies.newest };
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
