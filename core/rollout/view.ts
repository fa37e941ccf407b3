/** One look at a pool: every node in exactly one place, with what can be done about it. */

import { ANNOTATION, LABEL, NodeCondition, NodeState } from '../names';
import {
  annotationOf,
  currentConfigOf,
  isDegraded,
  isSimulated,
  isTargetedAt,
  isUpdatedTo,
  saysReady,
} from '../node/predicates';
import { lastRunOf, laterMark } from '../node/turn';
import type { MachineConfigNode, Node } from '../node/types';
import { versionOf } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';
import {
  isAdopted,
  isBeingDeleted,
  isCordonedByPerson,
  isCordonedBySlipway,
  isDownUnknown,
  isInService,
  isLeftUnavailable,
  isTakenOut,
  unavailability,
} from './availability';
import {
  controlPlaneOf,
  controlPlaneRoom,
  slotsOfPool,
  type ControlPlaneRoom,
} from './control-plane';
import { orderCandidates } from './order';
import { failureReason, heldReason, lookedAtWhenTold } from './standing';
import { failedUnheard, isUnheard } from './unheard';

/** A node and a sentence about it. */
export interface NamedReason {
  readonly node: string;
  readonly reason: string;
}

/** A node that has failed on the target, or drifted from it. */
export interface FailedNode extends NamedReason {
  /** Of the update that gave the node back last; absent = nobody can tell, or one has it now. */
  readonly givenBackBy?: string;
}

/** A node that cannot be taken now. */
export interface BlockedNode extends NamedReason {
  /** It is tried all the same when a person says so. */
  readonly isTriedWhenTold?: true;
}

/** A node that may start now. */
export interface RolloutCandidate {
  readonly node: string;
  /** What the Node says it runs; absent = never configured. */
  readonly currentConfig?: string;
  readonly zone?: string;
  /** Of the Node. */
  readonly uid?: string;
  /** Already unavailable because of an unfinished or failed update: takes no new slot. */
  readonly repair: boolean;
  /** Unavailable because an update of ours was lost on the way: taken up also where nothing else may start. */
  readonly unfinished?: true;
  /** An update of ours was lost on the way, and the node serves: its update waits for a slot as any other. */
  readonly halfDone?: true;
}

/**
 * A pool as the rollout sees it; plain JSON. Every node that is not on the target is in exactly one of
 * `candidates`, `failed`, `held` and `blocked`; any node may also be in `unavailable`.
 */
export interface PoolView {
  readonly pool: string;
  /** The pool's rendered config; absent = not rendered yet, and nothing is a candidate. */
  readonly target?: string;
  readonly paused: boolean;
  /** Why a person paused it, if they said so. */
  readonly pausedReason?: string;
  /** Nodes that may be unavailable at once (`slotsOfPool`). */
  readonly maxUnavailable: number;
  /** Absent = none of its nodes is of the control plane. */
  readonly controlPlane?: ControlPlaneRoom;
  /** Why that is 0: what the pool says is impossible (`checkMaxUnavailable`). */
  readonly invalid?: string;
  readonly machineCount: number;
  /** How many of them are simulated; absent = none. */
  readonly simulatedCount?: number;
  /** Names of the nodes that are on the target, verified. */
  readonly updated: readonly string[];
  /** Nodes that were written since: what is shown of them here is older. */
  readonly outdated: readonly string[];
  /**
   * Names of the nodes that take a slot because of what the cluster shows: they are out of service. One that
   * serves takes a slot only while an update has one for it, which its rollout knows.
   */
  readonly unavailable: readonly string[];
  /** Why each of `unavailable` is so, in the same order. */
  readonly unavailableBecause: readonly NamedReason[];
  /** Those of `unavailable` that are down by themselves, and why no update may begin to change them. */
  readonly downOtherwise: readonly NamedReason[];
  /** The others that are down by themselves: they get a slot as they are. */
  readonly triedAsTheyAre: readonly string[];
  /**
   * Nodes that an update to the target has begun to change and that are not verified on it, whether it still runs
   * or not: each is a node that tries the config.
   */
  readonly trying: readonly string[];
  /** In the order in which they should start. */
  readonly candidates: readonly RolloutCandidate[];
  /** Failed on this very config, or drifted from it; not tried again until told. */
  readonly failed: readonly FailedNode[];
  /** Those of `failed` whose host was never heard: they do not count against the config. */
  readonly unheard: readonly string[];
  /** Skipped or cancelled by a person on this very config. */
  readonly held: readonly NamedReason[];
  /** Cannot be taken now: cordoned by a person, not ready, being deleted. */
  readonly blocked: readonly BlockedNode[];
}

export interface PoolObservation {
  readonly pool: MachineConfigPool;
  /** Members of the pool: nodes whose primary pool this is. */
  readonly nodes: readonly Node[];
  /** The control-plane nodes of the cluster; absent = none but members of the pool. */
  readonly controlPlane?: readonly Node[];
  /** They say why a node failed when its annotation does not, and whether its host was ever heard. */
  readonly machineConfigNodes?: readonly MachineConfigNode[];
  /** Failed or held nodes that a person told to try again. */
  readonly retry?: readonly string[];
  /**
   * Nodes that somebody wrote at the end of an update, with the `resourceVersion` of that: an older picture
   * of them takes no slot.
   */
  readonly inService?: readonly { readonly node: string; readonly resourceVersion: string }[];
}

/** Looks at a pool and says which nodes are done, which may start, and why the others may not. */
export function observePool(observation: PoolObservation): PoolView {
  const { pool, nodes } = observation;
  const target = pool.spec.configuration?.name || undefined;
  const pausedReason = pool.metadata.annotations?.[ANNOTATION.PAUSED_REASON];
  const sorted = sortIntoPlaces(observation, target);
  const outdated = olderThanSeen(nodes, observation.inService ?? []);
  const unavailable = nodes.filter((node) => !isInService(node) && !outdated.has(node));
  const down = unavailable.filter((node) => !isTakenOut(node));
  const tried = new Set(down.filter((node) => isTriedAsItIs(node, observation.retry ?? [])));
  const simulatedCount = nodes.filter(isSimulated).length;
  const { controlPlane: allOfIt = controlPlaneOf(nodes) } = observation;
  const controlPlane = controlPlaneRoom(pool, { all: allOfIt, members: nodes, unavailable });
  return {
    pool: pool.metadata.name,
    ...(target === undefined ? {} : { target }),
    paused: pool.spec.paused === true,
    ...(pausedReason === undefined ? {} : { pausedReason }),
    ...slotsOfPool(pool, nodes, controlPlane?.total ?? 0),
    ...(controlPlane === undefined ? {} : { controlPlane }),
    machineCount: nodes.length,
    ...(simulatedCount === 0 ? {} : { simulatedCount }),
    updated: sorted.updated,
    outdated: [...outdated].map((node) => node.metadata.name),
    unavailable: unavailable.map((node) => node.metadata.name),
    unavailableBecause: unavailable.map((node) => ({
      node: node.metadata.name,
      reason: isDownUnknown(node)
        ? lookedAtWhenTold(node)
        : (unavailability(node) ?? 'unavailable'),
    })),
    downOtherwise: down
      .filter((node) => !tried.has(node))
      .map((node) => ({ node: node.metadata.name, reason: whyNotNow(node) ?? 'unavailable' })),
    triedAsTheyAre: [...tried].map((node) => node.metadata.name),
    trying: nodes
      .filter((node) => isTrying(node, target) && !outdated.has(node))
      .map((node) => node.metadata.name),
    candidates: orderCandidates(sorted.candidates).map((candidate) =>
      // An older picture may show what an update has ended long since.
      candidateOf(candidate, isLeftHalfDone(candidate.node) && !outdated.has(candidate.node)),
    ),
    failed: sorted.failed,
    unheard: sorted.unheard,
    held: sorted.held,
    blocked: sorted.blocked,
  };
}

/** Down by itself, and an update need not wait until it is back: it failed before, or a person says so. */
function isTriedAsItIs(node: Node, told: readonly string[]): boolean {
  return isDownUnknown(node) ? told.includes(node.metadata.name) : isLeftUnavailable(node);
}

/** Somebody has seen a later version of them. */
function olderThanSeen(
  nodes: readonly Node[],
  inService: NonNullable<PoolObservation['inService']>,
): ReadonlySet<Node> {
  const seen = new Map(
    inService.map(({ node, resourceVersion }) => [node, Number(resourceVersion)]),
  );
  return new Set(nodes.filter((node) => versionOf(node) < (seen.get(node.metadata.name) ?? 0)));
}

/** What one look at one node says. */
export type NodePlacement =
  | { readonly in: 'updated' }
  | { readonly in: 'candidates'; readonly repair: boolean }
  | { readonly in: 'failed' | 'held'; readonly reason: string }
  | { readonly in: 'blocked'; readonly reason: string; readonly isTriedWhenTold?: true };

/** Whether a person may tell to try the node (again). */
export function isTriedWhenTold(place: NodePlacement): boolean {
  if (place.in === 'blocked') return place.isTriedWhenTold === true;
  return place.in === 'failed' || place.in === 'held';
}

/**
 * Where a node stands. `told` = a person told to try it again, which opens `failed` and `held`, but of
 * `blocked` only a node that never said what it is on: a cordon of a person and a dead kubelet stay in the way.
 *
 * @param messages - MachineConfigNode failure messages by node
 */
export function placeNode(
  node: Node,
  target: string,
  told: boolean,
  messages?: ReadonlyMap<string, string>,
): NodePlacement {
  // A finished node that still has our cordon is not finished: somebody must take it away.
  if (isUpdatedTo(node, target) && !isCordonedBySlipway(node)) return { in: 'updated' };
  const later = laterMark(node.metadata.name, annotationOf(node, ANNOTATION.UPDATE_RUN));
  if (later !== undefined) return { in: 'blocked', reason: later };
  if (isBeingDeleted(node)) return { in: 'blocked', reason: unavailability(node) ?? '' };
  if (!told) {
    const held = heldReason(node, target);
    if (held !== undefined) return { in: 'held', reason: held };
    const failure = failureReason(node, target, messages?.get(node.metadata.name));
    if (failure !== undefined) return { in: 'failed', reason: failure };
  }
  if (isCordonedByPerson(node)) return { in: 'blocked', reason: whyNotNow(node) ?? '' };
  const repair = !isInService(node);
  if (isDownUnknown(node)) {
    return told
      ? { in: 'candidates', repair }
      : { in: 'blocked', reason: lookedAtWhenTold(node), isTriedWhenTold: true };
  }
  if (repair && !isLeftUnavailable(node)) {
    return { in: 'blocked', reason: whyNotNow(node) ?? 'not ready' };
  }
  // Registered a moment ago: what its host says would make a node a member that nobody can use yet.
  if (!isAdopted(node) && !saysReady(node)) {
    return { in: 'blocked', reason: 'its kubelet has not said yet that it is Ready' };
  }
  return { in: 'candidates', repair };
}

/** Why a node that is unavailable for a reason of its own is left alone for now. */
function whyNotNow(node: Node): string | undefined {
  return isCordonedByPerson(node) && !isBeingDeleted(node)
    ? 'cordoned by a person, so it is left alone; uncordon it to let it be updated'
    : unavailability(node);
}

/**
 * An update of ours has begun on this node and has not said how it ended: unlike one that failed, nobody keeps
 * it like this. Whether one still works on it the Node does not say.
 */
function isLeftHalfDone(node: Node): boolean {
  if (isDegraded(node) || isBeingDeleted(node)) return false;
  return isCordonedBySlipway(node) || annotationOf(node, ANNOTATION.STATE) === NodeState.WORKING;
}

function isTrying(node: Node, target: string | undefined): boolean {
  if (target === undefined || !isTargetedAt(node, target)) return false;
  return isLeftHalfDone(node) && !isUpdatedTo(node, target);
}

interface SortedNodes {
  readonly updated: string[];
  readonly candidates: {
    readonly node: Node;
    readonly repair: boolean;
    readonly unheard: boolean;
  }[];
  readonly failed: FailedNode[];
  readonly unheard: string[];
  readonly held: NamedReason[];
  readonly blocked: BlockedNode[];
}

function sortIntoPlaces(observation: PoolObservation, target: string | undefined): SortedNodes {
  const sorted: SortedNodes = {
    ...{ updated: [], candidates: [], held: [], blocked: [] },
    ...{ failed: [], unheard: [] },
  };
  if (target === undefined) return sorted;
  const told = new Set(observation.retry ?? []);
  const { machineConfigNodes = [] } = observation;
  const messages = failureMessages(machineConfigNodes);
  const known = new Map(machineConfigNodes.map((one) => [one.metadata.name, one]));
  for (const node of observation.nodes) {
    const name = node.metadata.name;
    const place = placeNode(node, target, told.has(name), messages);
    if (place.in === 'updated') sorted.updated.push(name);
    else if (place.in === 'candidates') {
      const unheard = isUnheard(node, known.get(name));
      sorted.candidates.push({ node, repair: place.repair, unheard });
    } else {
      const { in: list, ...said } = place;
      const givenBack = list === 'failed' ? givenBackBy(node) : {};
      sorted[list].push({ node: name, ...said, ...givenBack });
      if (list === 'failed' && failedUnheard(node, known.get(name))) sorted.unheard.push(name);
    }
  }
  return sorted;
}

function givenBackBy(node: Node): Pick<FailedNode, 'givenBackBy'> {
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  return last?.isOver === true ? { givenBackBy: last.id } : {};
}

function failureMessages(nodes: readonly MachineConfigNode[]): ReadonlyMap<string, string> {
  const messages = new Map<string, string>();
  for (const node of nodes) {
    const condition = node.status?.conditions?.find(
      (candidate) => candidate.type === NodeCondition.NODE_DEGRADED && candidate.status === 'True',
    );
    if (condition?.message) messages.set(node.metadata.name, condition.message);
  }
  return messages;
}

function candidateOf(
  { node, repair }: { node: Node; repair: boolean },
  isHalfDone: boolean,
): RolloutCandidate {
  const currentConfig = currentConfigOf(node);
  const zone = node.metadata.labels?.[LABEL.ZONE];
  const { name, uid } = node.metadata;
  return {
    node: name,
    ...(uid === undefined ? {} : { uid }),
    ...(currentConfig === undefined ? {} : { currentConfig }),
    ...(zone === undefined ? {} : { zone }),
    repair,
    ...(repair && isHalfDone ? { unfinished: true as const } : {}),
    ...(!repair && isHalfDone ? { halfDone: true as const } : {}),
  };
}
