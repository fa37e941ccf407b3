/**
 * Keeps one MachineConfigNode per Node of a pool. What an update reports on it is written by the
 * cluster worker; here it comes into being, says what its node came with, or how an update ended that
 * was lost before it could, follows its node to another pool, and goes. Of the Node itself, the mark of
 * a cordon that a person has taken away is cleared, one that joined says what its machine came with, and
 * one at rest whether its disk has drifted.
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

/** Of one condition: an apply under the name above would take away what else that has applied. */
const DRIFT_OWNER = `${FIELD_MANAGER.CONTROLLERS}-drift`;

/** MCO's word for a node that was never told to run a config. */
const NOT_YET_SET = 'not-yet-set';

/** Reasons of Events on a Node; the first is MCO's word. */
const DRIFT_DETECTED = 'ConfigDriftDetected';
const DRIFT_OVER = 'ConfigDriftOver';

const COALESCING = { quietMs: 200, longestMs: 2_000 };

export interface NodeControllerDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly events: EventRecorder;
  /** As the server has it now. @throws `ObjectNotFound` */
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
          tellFailure(deps.log, failure, 'looking after a node failed; will try again');
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
        // It may be the one that halts a rollout.
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

  /** Nodes that have yet to say what they came with: whether they may depends on their pool. */
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

  /** Written like drift. The watch brings the Node back here for its status. */
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

  /** Refused when an update has written meanwhile; the watch brings that, and nothing is left to do. */
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
      // The watch brings what changed, and then it is decided again.
      if (failure === 'Conflict' || failure === 'ObjectNotFound') return;
      throw error;
    }
    log.info({ node: name }, 'a person uncordoned the node; its cordon is not ours any more');
  }

  /**
   * Written on the condition that no update has begun since; of a node that is updated, updates say it.
   * A conflict is tried again: what changed may be something that is no news here.
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

  /** As the Node says. A conflict is tried again, as for the Node itself. */
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
      events.record(subject, 'Normal', DRIFT_OVER, 'the disk is as its config says again');
    } else {
      events.over(subject, DRIFT_OVER);
      events.record(subject, 'Warning', DRIFT_DETECTED, drift);
    }
  }

  /** The garbage collector does the same, later; a cluster may leave it to it alone. */
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
      // The cluster worker was faster: the watch will show it.
      if (failureName(error) !== 'Conflict') throw error;
    }
  }

  /** Undefined also when the node's pools contradict each other, which the pool status shows. */
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

/** Gone with its Node: the garbage collector sees the owner, and so do we. */
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

/** Whether nodes that joined are asked by a rollout as before, and for the same config. */
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
    // An update may write its own end over what the drift made of it.
    JSON.stringify(degradationOf(before)) === JSON.stringify(degradationOf(after)) &&
    isUpdated(before) === isUpdated(after) &&
    // An update that began in another pool wrote it over.
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

/** Which update of the node is over, and on the way to which config. */
function endOf(node: Node): string | undefined {
  const run = annotationOf(node, ANNOTATION.UPDATE_RUN);
  return lastRunOf(run)?.isOver === true ? [run, desiredConfigOf(node)].join(' ') : undefined;
}

/** An update of this node writes its MachineConfigNode now. */
function isUnderWay(node: Node): boolean {
  return annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
}
