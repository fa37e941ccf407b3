/**
 * Keeps one MachineConfigNode per Node of a pool, with its first status and the end of lost
 * updates; during updates the cluster worker writes it. On Nodes it clears marks of removed
 * cordons, adopts joined nodes, and shows drift.
 */

import { MACHINE_CONFIG_NODES, NODES } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { driftAnnotations, driftCondition, driftDegradation } from '../../core/drift';
import { failureName, messageOf } from '../../core/errors';
import { ANNOTATION, FIELD_MANAGER, NodeCondition, NodeState } from '../../core/names';
import { awaitsAdoption } from '../../core/node/adoption';
import { annotationOf, desiredConfigOf, isDegraded } from '../../core/node/predicates';
import { lastRunOf } from '../../core/node/turn';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { isConditionTrue } from '../../core/pool/conditions';
import { primaryPoolForNode } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import { owningPools, type ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { cordonMarkCleared, isCordonMarkLeftOver } from './cordon-mark';
import { EndKeeper } from './end-keeper';
import { firstStatus, restsOn } from './first-status';
import { joinedAnnotations } from './joined-node';
import { NoPool } from './no-pool';
import { FIELD_OWNER, showStatus } from './show-status';

/** An apply under the controllers' own name would remove what that has applied. */
const DRIFT_OWNER = `${FIELD_MANAGER.CONTROLLERS}-drift`;

/** MCO's value for a node that was never given a config. */
const NOT_YET_SET = 'not-yet-set';

/** The first is MCO's. */
const DRIFT_DETECTED = 'ConfigDriftDetected';
const DRIFT_OVER = 'ConfigDriftOver';

const COALESCING = { quietMs: 200, longestMs: 2_000 };

interface NodeControllerDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly events: EventRecorder;
  /** @throws `ObjectNotFound` */
  readonly readNode: (name: string) => Promise<Node>;
  readonly log: Log;
  /** RFC 3339. */
  readonly now: () => string;
}

export class NodeController {
  readonly #deps: NodeControllerDeps;
  readonly #queue: WorkQueue;
  readonly #ends: EndKeeper;
  readonly #noPool: NoPool;

  constructor(deps: NodeControllerDeps, leading: AbortSignal) {
    this.#deps = deps;
    const addAfter = (name: string, delayMs: number): void => {
      this.#queue.addAfter(name, delayMs);
    };
    this.#ends = new EndKeeper(deps, addAfter);
    this.#noPool = new NoPool(deps, addAfter);
    this.#queue = new WorkQueue(
      {
        work: (name) => this.#sync(name),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'checking a node failed; will try again');
        },
        ...COALESCING,
      },
      leading,
    );
    const subscriptions = this.#subscribe();
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    this.#everything();
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #subscribe(): readonly (() => void)[] {
    const { nodes, machineConfigNodes, pools, policies } = this.#deps.picture;
    return [
      nodes.subscribe((event) => {
        const isSame = event.type === 'modified' && hasSameMembership(event.previous, event.object);
        if (!isSame || isCordonMarkLeftOver(event.object))
          this.#queue.add(event.object.metadata.name);
        // This failure may halt a rollout.
        if (event.type === 'modified' && !isDegraded(event.previous) && isDegraded(event.object))
          this.#joined();
      }),
      machineConfigNodes.subscribe((event) => {
        const isSame = event.type === 'modified' && saysTheSame(event.previous, event.object);
        if (!isSame) this.#queue.add(event.object.metadata.name);
      }),
      pools.subscribe((event) => {
        const selector = (spec: { nodeSelector?: unknown }): string =>
          JSON.stringify(spec.nodeSelector);
        const isSame =
          event.type === 'modified' &&
          selector(event.previous.spec) === selector(event.object.spec);
        if (!isSame) this.#everything();
        else if (event.type === 'modified' && !sameWait(event.previous, event.object))
          this.#joined();
      }),
      policies.subscribe(() => {
        this.#joined();
      }),
    ];
  }

  /** Their adoption depends on the pool. */
  #joined(): void {
    const { nodes, machineConfigNodes } = this.#deps.picture;
    for (const node of nodes.list()) {
      if (!awaitsAdoption(node)) continue;
      const { name } = node.metadata;
      if (machineConfigNodes.get(name)?.status?.drift !== undefined) this.#queue.add(name);
    }
  }

  #everything(): void {
    const { nodes, machineConfigNodes } = this.#deps.picture;
    const names = [...nodes.list(), ...machineConfigNodes.list()].map(
      ({ metadata }) => metadata.name,
    );
    for (const name of new Set(names)) this.#queue.add(name);
  }

  async #sync(name: string): Promise<void> {
    const { picture } = this.#deps;
    const node = picture.nodes.get(name);
    const known = picture.machineConfigNodes.get(name);
    if (node === undefined || node.metadata.deletionTimestamp !== undefined) {
      this.#ends.forget(name);
      this.#noPool.forget(name);
      if (node === undefined && known !== undefined) await this.#delete(known);
      if (known === undefined) this.#queue.forget(name);
      return;
    }
    if (isCordonMarkLeftOver(node)) await this.#clearCordonMark(node);
    else await this.#showDrift(node, known);
    if (known !== undefined) await this.#showDegradation(node, known);
    const pool = this.#poolOf(node);
    this.#noPool.look(node, pool);
    if (pool === undefined) return;
    if (known === undefined) await this.#create(node, pool);
    else if (known.spec.pool.name !== pool && !isUnderWay(node)) await this.#move(known, pool);
    else if (!(await this.#adopt(node, known, pool))) await this.#showStatus(node, known);
  }

  /** The watch queues the Node again for its status. */
  async #adopt(node: Node, known: MachineConfigNode, poolName: string): Promise<boolean> {
    const { picture, log } = this.#deps;
    const pool = picture.pools.get(poolName);
    if (pool === undefined) return false;
    const annotations = joinedAnnotations({
      ...{ node, known, pool, picture },
      policy: picture.policies.get(poolName),
      isOfPool: (name) => {
        const config = picture.machineConfigs.get(name);
        return config !== undefined && owningPools(config).includes(poolName);
      },
    });
    if (annotations === undefined) return false;
    await this.#annotate(node, annotations);
    const { name } = node.metadata;
    const config = annotations[ANNOTATION.CURRENT_CONFIG];
    log.info({ node: name, pool: poolName, config }, 'node has joined its pool');
    return true;
  }

  /** Refused when an update has written meanwhile. */
  async #showStatus(node: Node, known: MachineConfigNode): Promise<void> {
    const { writer, now } = this.#deps;
    const first = firstStatus(node, known, now());
    if (first === undefined) await this.#ends.look(node, known);
    else await showStatus(writer, known, first);
  }

  async #move({ metadata: { name, uid } }: MachineConfigNode, pool: string): Promise<void> {
    await this.#deps.writer.apply(
      MACHINE_CONFIG_NODES,
      {
        metadata: { name, ...(uid === undefined ? {} : { uid }) },
        spec: { pool: { name: pool } },
      },
      { manager: FIELD_OWNER },
    );
  }

  async #clearCordonMark(node: Node): Promise<void> {
    const { writer, log } = this.#deps;
    const { name } = node.metadata;
    try {
      await writer.patch(NODES, { name }, cordonMarkCleared(node), { manager: FIELD_OWNER });
    } catch (error) {
      const failure = failureName(error);
      // The watch queues the node with the change.
      if (failure === 'Conflict' || failure === 'ObjectNotFound') return;
      throw error;
    }
    log.info({ node: name }, 'a person uncordoned the node; removed the mark of the cordon');
  }

  /**
   * Writes only if no update has begun since. A conflict is retried, because the change may not
   * queue the node again.
   */
  async #showDrift(node: Node, known: MachineConfigNode | undefined): Promise<void> {
    const { log } = this.#deps;
    const annotations = driftAnnotations(node, known);
    if (annotations === undefined || !(await this.#annotate(node, annotations))) return;
    const { name } = node.metadata;
    const state = annotations[ANNOTATION.STATE];
    const reason = annotations[ANNOTATION.REASON] ?? '';
    log.info({ node: name, state, reason }, 'drift shown');
    this.#tellDrift(node, state === NodeState.DEGRADED ? reason : undefined);
  }

  /** A conflict is retried, as for the Node. */
  async #showDegradation(node: Node, known: MachineConfigNode): Promise<void> {
    const condition = driftDegradation(node, known);
    if (condition === undefined) return;
    const { name, resourceVersion } = known.metadata;
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    try {
      await this.#deps.writer.apply(
        MACHINE_CONFIG_NODES,
        { metadata: { name, ...version }, status: { conditions: [condition] } },
        { manager: DRIFT_OWNER, subresource: 'status' },
      );
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
    }
  }

  /** Exactly this version of the Node. @returns false when it is gone */
  async #annotate(node: Node, annotations: Readonly<Record<string, string>>): Promise<boolean> {
    const { name, resourceVersion } = node.metadata;
    const version = resourceVersion === undefined ? {} : { resourceVersion };
    const patch = { metadata: { ...version, annotations } };
    try {
      await this.#deps.writer.patch(NODES, { name }, patch, { manager: FIELD_OWNER });
      return true;
    } catch (error) {
      if (failureName(error) === 'ObjectNotFound') return false;
      throw error;
    }
  }

  /** @see MCO pkg/daemon/daemon.go, startConfigDriftMonitor (7ff337a4) */
  #tellDrift(node: Node, drift: string | undefined): void {
    const { events } = this.#deps;
    const subject = { resource: NODES, object: node };
    if (drift === undefined) {
      events.over(subject, DRIFT_DETECTED);
      events.record(subject, 'Normal', DRIFT_OVER, 'the disk matches its config again');
    } else {
      events.over(subject, DRIFT_OVER);
      events.record(subject, 'Warning', DRIFT_DETECTED, drift);
    }
  }

  /** The garbage collector deletes it later; a cluster may forbid this delete. */
  async #delete(known: MachineConfigNode): Promise<void> {
    try {
      await this.#deps.writer.delete(MACHINE_CONFIG_NODES, known);
    } catch (error) {
      if (failureName(error) !== 'ApiForbidden') throw error;
      this.#deps.log.debug(
        { node: known.metadata.name, reason: messageOf(error) },
        'leaving a MachineConfigNode to the garbage collector',
      );
    }
  }

  async #create(node: Node, pool: string): Promise<void> {
    try {
      await this.#deps.writer.create(
        MACHINE_CONFIG_NODES,
        machineConfigNodeFor(node, pool),
        FIELD_OWNER,
      );
    } catch (error) {
      // The cluster worker created it first.
      if (failureName(error) !== 'Conflict') throw error;
    }
  }

  /** Undefined also when several pools claim the node. */
  #poolOf(node: Node): string | undefined {
    try {
      return primaryPoolForNode(node, this.#deps.picture.pools.list())?.metadata.name;
    } catch (error) {
      const name = failureName(error);
      if (name === 'NodeInSeveralPools' || name === 'InvalidPool') return undefined;
      throw error;
    }
  }
}

/** Owned by its Node, for the garbage collector. */
function machineConfigNodeFor(node: Node, pool: string): MachineConfigNode {
  const { name, uid = '' } = node.metadata;
  return {
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: {
      node: { name },
      pool: { name: pool },
      configVersion: { desired: desiredConfigOf(node) ?? NOT_YET_SET },
    },
  };
}

/** Rollouts ask joined nodes in the same way, for the same config. */
function sameWait(before: MachineConfigPool, after: MachineConfigPool): boolean {
  const parts = ({ spec, metadata }: MachineConfigPool): string =>
    JSON.stringify([
      spec.configuration?.name,
      spec.paused,
      spec.maxUnavailable,
      metadata.annotations?.[ANNOTATION.ROLLOUT_CANCELLED],
      metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED],
    ]);
  return parts(before) === parts(after);
}

function hasSameMembership(before: Node, after: Node): boolean {
  return (
    before.metadata.uid === after.metadata.uid &&
    isUnderWay(before) === isUnderWay(after) &&
    restsOn(before) === restsOn(after) &&
    endOf(before) === endOf(after) &&
    awaitsAdoption(before) === awaitsAdoption(after) &&
    JSON.stringify(before.metadata.labels) === JSON.stringify(after.metadata.labels)
  );
}

function saysTheSame(before: MachineConfigNode, after: MachineConfigNode): boolean {
  const [one, other] = [driftCondition(before), driftCondition(after)];
  return (
    one?.status === other?.status &&
    one?.message === other?.message &&
    // An update may write its end over the drift.
    JSON.stringify(degradationOf(before)) === JSON.stringify(degradationOf(after)) &&
    isUpdated(before) === isUpdated(after) &&
    // An update that began in another pool wrote that pool.
    before.spec.pool.name === after.spec.pool.name &&
    before.status?.drift?.config === after.status?.drift?.config
  );
}

function degradationOf({ status }: MachineConfigNode): readonly unknown[] {
  const is = status?.conditions?.find(({ type }) => type === NodeCondition.NODE_DEGRADED);
  return [is?.status, is?.message];
}

function isUpdated({ status }: MachineConfigNode): boolean {
  return isConditionTrue(status?.conditions, NodeCondition.UPDATED);
}

function endOf(node: Node): string | undefined {
  const run = annotationOf(node, ANNOTATION.UPDATE_RUN);
  return lastRunOf(run)?.isOver === true ? [run, desiredConfigOf(node)].join(' ') : undefined;
}

function isUnderWay(node: Node): boolean {
  return annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
}
