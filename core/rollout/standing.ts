/**
 * Where each node stands in the rollout of its pool. Of all that decides on a rollout, only this file reads the
 * annotations and conditions of Nodes.
 */

import { isDriftReason } from '../drift';
import { ANNOTATION } from '../names';
import {
  annotationOf,
  currentConfigOf,
  desiredConfigOf,
  isDegraded,
  isTargetedAt,
  isUpdatedTo,
  saysReady,
} from '../node/predicates';
import { preparedOf, type Prepared } from '../node/prepared';
import { lastRunOf, laterMark, overMarkOf, type MarkedRun, type UpdateRun } from '../node/turn';
import type { MachineConfigNode, Node } from '../node/types';
import { comparePlaces, placeOf } from '../pool/candidates';
import {
  isAdopted,
  isBeingDeleted,
  isCordonedByPerson,
  isCordonedBySlipway,
  isDownUnknown,
  isInService,
  isLeftUnavailable,
  servesHalfDone,
  takesRoom,
  unavailability,
} from '../node/availability';
import { isSameNode } from './same-member';
import { failedUnheard, isUnheard } from '../node/unheard';

/** Exactly one holds of each node. */
export type Standing =
  /** On the config, verified. */
  | { readonly is: 'updated' }
  /** An update has marked the Node and has not given it back. Whether it still runs, only Temporal knows. */
  | { readonly is: 'taken'; readonly run: MarkedRun }
  /** An update may take it. */
  | { readonly is: 'open'; readonly turn: Turn; readonly isTold: boolean }
  /** Failed on this config or drifted from it. `counts`: against the failure threshold. */
  | { readonly is: 'failed'; readonly reason: string; readonly counts: boolean }
  /** Skipped or cancelled by a person on this config. */
  | { readonly is: 'held'; readonly reason: string }
  /** Cannot be taken now. `opensWhenTold`: a person may tell to try it all the same. */
  | { readonly is: 'blocked'; readonly reason: string; readonly opensWhenTold?: true };

/** In this order open nodes get their turn. */
const TURNS = [
  /** An update has left it out of service: it needs no room, and gives some back. */
  'repair',
  /** An update was lost on it, and it serves. The others may wait for it as their canary. */
  'halfDone',
  /** It never had a config: most came with the pool's, and the others have the least to lose. */
  'new',
  /** It reports a failure, and serves. */
  'failing',
  'usual',
  /** Its host was never heard: waiting for it may take as long as a host may be away. */
  'unheard',
  /** Its drain timed out. */
  'deferred',
] as const;
export type Turn = (typeof TURNS)[number];

/** A node of the pool. */
export interface Member {
  readonly node: Node;
  readonly name: string;
  readonly uid: string;
  readonly standing: Standing;
  /** Not Ready, unschedulable, or about to be deleted. */
  readonly isOut: boolean;
  /** It had failed on the config and is tried again: until that has ended, it counts as failed. */
  readonly isTriedAgain: boolean;
  /** A person keeps it from the config, whatever its update does. */
  readonly heldBecause?: string;
  /** The update that said last that its host is prepared, unless it has given the node back. */
  readonly prepared?: Prepared & {
    /** It began before the run that has marked the Node: it has ended, or the clock of Temporal was set back. */
    readonly isEarlier: boolean;
  };
  /** The run that has marked the Node last. */
  readonly last?: MarkedRun;
  readonly currentConfig?: string;
  readonly desiredConfig?: string;
}

/** What a PoolRollout is decided from, apart from the Node. */
export interface KnownOfNode {
  /** The rendered config of the pool; absent = none, and no node is open. */
  readonly target?: string;
  readonly machineConfigNode?: MachineConfigNode;
  /** Failure message of its MachineConfigNode. */
  readonly message?: string;
}

export function memberOf(node: Node, known: KnownOfNode): Member {
  const { target, machineConfigNode } = known;
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  const prepared = preparedOf(machineConfigNode);
  const isOver = prepared !== undefined && last?.isOver === true && last.id === prepared.run;
  const isEarlier =
    prepared !== undefined && Date.parse(prepared.startedAt) < (last?.startedMs ?? 0);
  const { name, uid = '' } = node.metadata;
  const currentConfig = currentConfigOf(node);
  const desiredConfig = desiredConfigOf(node);
  const heldBecause = target === undefined ? undefined : heldReason(node, target);
  return {
    ...{ node, name, uid, isOut: !isInService(node) },
    standing: standingOf(node, known),
    isTriedAgain: isRetried(node, target) && currentConfig !== undefined,
    ...(heldBecause === undefined ? {} : { heldBecause }),
    ...(prepared === undefined || isOver ? {} : { prepared: { ...prepared, isEarlier } }),
    ...(last === undefined ? {} : { last }),
    ...(currentConfig === undefined ? {} : { currentConfig }),
    ...(desiredConfig === undefined ? {} : { desiredConfig }),
  };
}

export function standingOf(node: Node, known: KnownOfNode): Standing {
  const { target } = known;
  const mark = annotationOf(node, ANNOTATION.UPDATE_RUN);
  const later = laterMark(node.metadata.name, mark);
  if (later !== undefined) return { is: 'blocked', reason: later };
  const last = lastRunOf(mark);
  if (last !== undefined && !last.isOver) {
    return { is: 'taken', run: last };
  }
  if (target === undefined) return { is: 'blocked', reason: 'its pool has no rendered config' };
  // One that still has our cordon is not finished: somebody must take it away.
  if (isUpdatedTo(node, target) && !isCordonedBySlipway(node)) return { is: 'updated' };
  if (isBeingDeleted(node)) return { is: 'blocked', reason: unavailability(node) ?? '' };
  const isTold = isRetried(node, target);
  return (isTold ? undefined : leftOut(node, target, known)) ?? openOrBlocked(node, known, isTold);
}

/** Left alone until a person says otherwise. */
function leftOut(node: Node, target: string, known: KnownOfNode): Standing | undefined {
  const held = heldReason(node, target);
  if (held !== undefined) return { is: 'held', reason: held };
  const reason = failureReason(node, target, known.message);
  if (reason === undefined) return undefined;
  return { is: 'failed', reason, counts: !failedUnheard(node, known.machineConfigNode) };
}

function openOrBlocked(node: Node, known: KnownOfNode, isTold: boolean): Standing {
  if (isCordonedByPerson(node)) {
    const fix = 'uncordon it to let it be updated';
    return { is: 'blocked', reason: `cordoned by a person, so it is left alone; ${fix}` };
  }
  if (isDownUnknown(node) && !isTold) {
    return { is: 'blocked', reason: lookedAtWhenTold(node), opensWhenTold: true };
  }
  const isDown = !isInService(node);
  if (isDown && !isLeftUnavailable(node) && !isDownUnknown(node)) {
    return { is: 'blocked', reason: unavailability(node) ?? 'not Ready' };
  }
  // What its host says of a node that has just registered would make it a member that nobody can use yet.
  if (!isDown && !isAdopted(node) && !saysReady(node)) {
    return { is: 'blocked', reason: 'its kubelet has not said yet that it is Ready' };
  }
  return { is: 'open', turn: turnOf(node, known, isDown), isTold };
}

function turnOf(node: Node, { machineConfigNode }: KnownOfNode, isDown: boolean): Turn {
  if (isDown) return 'repair';
  if (annotationOf(node, ANNOTATION.DRAIN_TIMED_OUT) !== undefined) return 'deferred';
  if (servesHalfDone(node)) return 'halfDone';
  if (isUnheard(node, machineConfigNode)) return 'unheard';
  if (!isAdopted(node)) return 'new';
  return isDegraded(node) ? 'failing' : 'usual';
}

/** It is to be updated, and has a config of ours by now. */
export function willBeDrained({ node, standing }: Member, target: string): boolean {
  const isLeft = ['taken', 'open', 'blocked'].includes(standing.is);
  return isLeft && isAdopted(node) && !isBeingDeleted(node) && !isUpdatedTo(node, target);
}

/** At last those that are out of service already: no pod goes there anyway. */
export function servingFirst(members: readonly Member[]): readonly Member[] {
  const isLast = ({ node }: Member): boolean => takesRoom(node);
  return [...members.filter((member) => !isLast(member)), ...members.filter(isLast)];
}

/**
 * The mark that says that a run is over which has ended without a word. Undefined = nothing is to be said: the Node is
 * another one, has our cordon, so that somebody must take it up, says so already, is taken by another run, or has the
 * mark of a later version.
 */
export function markToClose(node: Node, run: UpdateRun, uid: string): string | undefined {
  const mark = annotationOf(node, ANNOTATION.UPDATE_RUN);
  const isOfLater = laterMark(node.metadata.name, mark) !== undefined;
  if (!isSameNode(node, uid) || isCordonedBySlipway(node) || isOfLater) return undefined;
  const last = lastRunOf(mark);
  const isSaid = last?.id === run.id && last.isOver;
  const isTakenByAnother = last !== undefined && last.id !== run.id && !last.isOver;
  return isSaid || isTakenByAnother ? undefined : overMarkOf(run);
}

/**
 * In the order in which they get their turn: what a lost update has left, then by `Turn`, then by zone and age as in
 * MCO, at last by name, so that equal clusters give equal orders. Of those whose drain timed out, the earlier first.
 */
export function inTurn(members: readonly Member[]): readonly Member[] {
  return members
    .map((member) => ({
      member,
      urgency: urgencyOf(member),
      since: annotationOf(member.node, ANNOTATION.DRAIN_TIMED_OUT) ?? '',
      place: placeOf(member.node),
    }))
    .sort(
      (a, b) =>
        a.urgency - b.urgency ||
        compareTexts(a.since, b.since) ||
        comparePlaces(a.place, b.place) ||
        compareTexts(a.member.name, b.member.name),
    )
    .map(({ member }) => member);
}

function urgencyOf({ standing }: Member): number {
  if (standing.is === 'taken') return -1;
  return standing.is === 'open' ? TURNS.indexOf(standing.turn) : TURNS.length;
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function isRetried(node: Node, target: string | undefined): boolean {
  return target !== undefined && annotationOf(node, ANNOTATION.RETRY_FOR) === target;
}

export function heldReason(node: Node, target: string): string | undefined {
  if (annotationOf(node, ANNOTATION.HELD_FOR) !== target) return undefined;
  return annotationOf(node, ANNOTATION.HELD_REASON) ?? 'held by a person';
}

export function failureReason(node: Node, target: string, message?: string): string | undefined {
  if (!isDegraded(node) || !isTargetedAt(node, target)) return undefined;
  const state = annotationOf(node, ANNOTATION.STATE);
  const reason =
    annotationOf(node, ANNOTATION.REASON) ??
    message ??
    `the node reports state ${state} without a reason`;
  // An update may also have failed once its host had committed: that one matches.
  const hasDrifted = currentConfigOf(node) === desiredConfigOf(node) && isDriftReason(reason);
  return hasDrifted ? `no longer matches its config: ${reason}` : reason;
}

/** Its update begins with a look at the machine, and settles what it finds half done. */
export function lookedAtWhenTold(node: Node): string {
  const retry = `slipway node retry ${node.metadata.name}`;
  return `${unavailability(node) ?? 'not Ready'}; nobody knows what its machine is on: \`${retry}\` has it looked at`;
}
