/**
 * Slots: the permission to make one node unavailable. This file only counts; the caller passes lists of names.
 *
 * Four rules:
 *
 * 1. A granted slot counts until its node has reported its end, whether or not the cache shows the cordon. So a
 *    stale cache can only grant too little.
 * 2. A node that one of our updates left unavailable needs no further slot. So it is finished even when the pool
 *    is over its limit.
 * 3. A node that is unavailable for another reason gets no slot. It may be back in a moment, and then one node
 *    too many would be out.
 * 4. An update may end without a report, or without taking its host back. Its node keeps the slot until the cache
 *    shows it unavailable (`settleBroken`), or until another update takes it.
 *
 * Several cluster workers may use slots at the same moment without seeing each other. So each grant carries:
 *
 *     number  = |unavailable ∪ holders| − |unavailable for another reason, without a slot|   (with this node)
 *     counts  = the nodes in `number` that are unavailable for another reason
 *     pending = the nodes that got a slot before and do not seem to use it yet
 *
 * When the slot is used, `out` are all other nodes that are out of service. `beside` are those of `out` that no
 * update has taken out and that are not in `counts`. The slot may be used while both hold:
 *
 *     |out ∪ pending| + 1 ≤ maxUnavailable
 *     number + |beside|   ≤ maxUnavailable
 *
 * Example with a limit of two: nodes a and b get slots 1 and 2, b with pending = {a}. Then c fails by itself. Now b
 * may not go, whether or not the cache shows a's cordon: {a, c} + 1 > 2. But a may go before b: {c} + 1 ≤ 2 and
 * 1 + {c} ≤ 2.
 */

import { fewNames } from '../few';
import type { CanaryLimit } from './canary';
import { quorumLimit, quorumSentence, type ControlPlaneRoom } from './control-plane';
import type { NamedReason } from './view';

export interface SlotRequest {
  /** Nodes of the pool that may be unavailable at once. */
  readonly maxUnavailable: number;
  /** Nodes that the cluster shows unavailable, for whatever reason. */
  readonly unavailable: readonly string[];
  /** Those of them that no update of ours has left so, and why they are not taken now. */
  readonly downOtherwise?: readonly NamedReason[];
  /** Nodes that hold a slot. */
  readonly holders: readonly string[];
  /** Those of them that have it from an update that was lost, and have not been told to use it. */
  readonly inherited?: readonly string[];
  /** Prepared nodes that want one, or are to be told to use theirs, in the order in which they should. */
  readonly waiting: readonly string[];
  /** Present while the config is not proven yet. */
  readonly canary?: CanaryLimit;
  /** Absent = the pool has no control-plane nodes, or they are not counted by themselves. */
  readonly controlPlane?: ControlPlaneRoom;
}

export interface SlotDecision {
  /** Nodes that get a slot now, in order. */
  readonly granted: readonly string[];
  /** Nodes that do not, with a sentence each. */
  readonly withheld: readonly WithheldSlot[];
}

/** A node that gets no slot now, and why. */
export interface WithheldSlot extends NamedReason {
  /** The pool may have room for it: too many control-plane nodes would be out. */
  readonly byControlPlane?: true;
}

/**
 * Decides which waiting nodes get a slot now, and what the others wait for.
 *
 * A node that inherited the slot of a lost update needs no other slot. But it may be one canary too many, because
 * the lost update may have tried another config. Nodes without a slot come after it. A node that already tries the
 * config is no further canary: it waits neither for the other canaries nor for itself.
 */
export function decideSlots(request: SlotRequest): SlotDecision {
  const taken = takenBy(request.unavailable, request.holders);
  const holders = new Set(request.holders);
  const inherited = new Set(request.inherited);
  const trying = new Set(request.canary?.trying ?? []);
  const triesAlready = new Set(trying);
  const granted: string[] = [];
  const withheld: WithheldSlot[] = [];
  const down = new Map(request.downOtherwise?.map(({ node, reason }) => [node, reason]));
  let fullReason: string | undefined;

  for (const node of request.waiting) {
    const isHeir = inherited.has(node);
    if (holders.has(node) && !isHeir) continue;
    const notNow = isHeir ? undefined : down.get(node);
    const ahead = isHeir ? [...trying] : [...new Set([...trying, ...inherited])];
    if (notNow !== undefined) {
      withheld.push({ node, reason: notNow });
    } else if (isOneTooMany(request.canary, ahead) && !triesAlready.has(node)) {
      withheld.push({ node, reason: canaryReason(ahead) });
    } else if (isControlPlaneFull(request.controlPlane, node, holders)) {
      const reason = controlPlaneReason(request.controlPlane, holders);
      withheld.push({ node, reason, byControlPlane: true });
    } else if (taken.has(node) || taken.size < request.maxUnavailable) {
      taken.add(node);
      holders.add(node);
      trying.add(node);
      inherited.delete(node);
      granted.push(node);
    } else {
      fullReason ??= slotsReason(request.maxUnavailable, request.unavailable, [...holders]);
      withheld.push({ node, reason: fullReason });
    }
  }
  return { granted, withheld };
}

function isOneTooMany(canary: CanaryLimit | undefined, ahead: readonly string[]): boolean {
  return canary !== undefined && ahead.length >= canary.slots;
}

/** Whether the node is of the control plane, and no further one of it may go, whichever pools the others are in. */
function isControlPlaneFull(
  room: ControlPlaneRoom | undefined,
  node: string,
  holders: ReadonlySet<string>,
): room is ControlPlaneRoom {
  if (room?.members.includes(node) !== true) return false;
  const taken = takenBy(room.out, holdersOf(room, holders));
  return !taken.has(node) && taken.size >= quorumLimit(room.total);
}

function holdersOf(room: ControlPlaneRoom, holders: ReadonlySet<string>): readonly string[] {
  return room.members.filter((node) => holders.has(node));
}

/**
 * Of the nodes that an update left out of service, those that the cluster view has not shown
 * unavailable yet. They still count as holders; for the others the view counts from now on.
 */
export function settleBroken(
  broken: readonly string[],
  unavailable: readonly string[],
): readonly string[] {
  const seen = new Set(unavailable);
  return broken.filter((node) => !seen.has(node));
}

/**
 * The `number` of the rule above: which slot of its pool a node has.
 *
 * @param granted - as it is once the node is a holder
 * @param downOtherwiseCount - how many of `unavailable` no update of ours has left so, holder or not
 */
export function slotNumber(
  granted: Pick<SlotRequest, 'unavailable' | 'holders' | 'downOtherwise'>,
  downOtherwiseCount: number,
): number {
  const { unavailable, holders, downOtherwise = [] } = granted;
  const holding = new Set(holders);
  // Who has a slot may use it, down now or not; also who got it for nothing, and is back in a moment.
  const holdersDown = downOtherwise.filter(({ node }) => holding.has(node)).length;
  return takenBy(unavailable, holders).size - (downOtherwiseCount - holdersDown);
}

/** So many names go with a slot at most: with thousands of slots at once they would fill the history of a rollout. */
const NAMED = 50;

/**
 * The `counts` of the rule above. Whoever uses the slot finds these nodes down, and must not count them beside it; any
 * other node that is down by itself has gone down since.
 *
 * @param countedDown - nodes of `unavailable` that no update has taken out, and that are not `downOtherwise`
 * @returns undefined when there are more than fifty: then all that an update has left down count as such
 */
export function countedInNumber(
  granted: Pick<SlotRequest, 'holders' | 'downOtherwise'>,
  countedDown: readonly string[],
): readonly string[] | undefined {
  const holding = new Set(granted.holders);
  const down = (granted.downOtherwise ?? []).filter(({ node }) => holding.has(node));
  const counted = [...countedDown, ...down.map(({ node }) => node)];
  return counted.length > NAMED ? undefined : counted;
}

/**
 * The `pending` of the rule above. A slot that is given later may be used earlier, so the number alone does not say how
 * many will be out. A holder that is down by itself has not used its slot, and may when it is back.
 *
 * @param granted - as it is once the node is a holder
 * @returns undefined when there are more than fifty
 */
export function pendingBefore(
  node: string,
  granted: Pick<SlotRequest, 'unavailable' | 'holders' | 'downOtherwise'>,
): readonly string[] | undefined {
  const seen = new Set(granted.unavailable);
  for (const { node: down } of granted.downOtherwise ?? []) seen.delete(down);
  const pending = granted.holders.filter((holder) => holder !== node && !seen.has(holder));
  return pending.length > NAMED ? undefined : pending;
}

/** How many more nodes could be made unavailable now; 0 when the pool is at or over its limit. */
export function freeSlots(request: Omit<SlotRequest, 'waiting'>): number {
  const taken = takenBy(request.unavailable, request.holders);
  const free = Math.max(0, request.maxUnavailable - taken.size);
  if (request.canary === undefined) return free;
  const { canary, inherited = [] } = request;
  const ahead = new Set([...canary.trying, ...inherited]).size;
  return Math.min(free, Math.max(0, canary.slots - ahead));
}

function takenBy(unavailable: readonly string[], holders: readonly string[]): Set<string> {
  return new Set([...unavailable, ...holders]);
}

function controlPlaneReason(room: ControlPlaneRoom, holders: ReadonlySet<string>): string {
  const limit = quorumSentence(room.total);
  return `waiting for a slot: ${limit}; ${takersOf(room.out, holdersOf(room, holders))}`;
}

function slotsReason(
  maxUnavailable: number,
  unavailable: readonly string[],
  holders: readonly string[],
): string {
  const takers = takersOf(unavailable, holders);
  return `waiting for a slot: maxUnavailable is ${maxUnavailable}; ${takers}`;
}

function takersOf(unavailable: readonly string[], holders: readonly string[]): string {
  const held = new Set(holders);
  const others = unavailable.filter((node) => !held.has(node));
  const parts = [
    ...(holders.length > 0 ? [`holding a slot: ${fewNames(holders)}`] : []),
    ...(others.length > 0 ? [`unavailable: ${fewNames(others)}`] : []),
  ];
  return parts.join('; ');
}

function canaryReason(trying: readonly string[]): string {
  return trying.length === 0
    ? 'waiting for the canary: no node may try the config yet'
    : `waiting for the canary: ${fewNames(trying)} must be verified on the config first`;
}
