/**
 * Grants: which updates may take their node out of service. They are one list on one object, so that nobody has to
 * remember or to guess them.
 *
 * A grant ends when its Node says that its run has given it back, and serves; or when no member of the pool has its
 * UID any more. A mark of a run that is not over is a grant, whatever the list says: so a list that was lost or edited
 * is made good from the Nodes. A picture that is behind shows too many of them, and never too few.
 */

import { fewNames } from '../few';
import type { Prepared } from '../node/prepared';
import type { ResolvedPolicy } from '../pool/types';
import { quorumLimit, quorumSentence } from './control-plane';
import type { Picture } from './picture';
import type { Grant } from './pool-rollout';
import { inTurn, type Member } from './standing';
import type { NamedReason } from './progress';

/** The grants that go on: those that have not ended, and those that the Nodes show and the list has lost. */
export function goingOn({ before, members, byName, now }: Picture): readonly Grant[] {
  const kept = new Map<string, Grant>();
  for (const grant of before?.grants ?? []) {
    const member = byName.get(grant.node);
    if (member === undefined || member.uid !== grant.uid || kept.has(grant.node)) continue;
    if (member.isOut || !isOver(grant, member)) kept.set(grant.node, grant);
  }
  for (const { name, uid, standing, desiredConfig = '' } of members) {
    if (standing.is !== 'taken' || kept.has(name)) continue;
    const { id: run, startedAt } = standing.run;
    kept.set(name, { node: name, uid, run, startedAt, config: desiredConfig, grantedAt: now });
  }
  return [...kept.values()];
}

/** Its run has given the node back, or a later one has. */
export function isOver({ run, startedAt }: Grant, { last }: Member): boolean {
  return last?.isOver === true && (last.id === run || last.startedMs > Date.parse(startedAt));
}

/** The same of one whose node is a member. */
export function isGivenBack(grant: Grant, { byName }: Picture): boolean {
  const member = byName.get(grant.node);
  return member !== undefined && isOver(grant, member);
}

/** What keeps a pool from going on, and how far. */
export interface Limits {
  /** Nobody begins: paused, halted or cancelled. What is half done is finished all the same. */
  readonly isStandstill: boolean;
  /** Nodes that a person told to try go on although the rollout is halted. */
  readonly isHalted: boolean;
  /** How many may still try a config that is not proven; absent = it is proven. */
  readonly canaries?: number;
}

export interface GrantDecision {
  readonly grants: readonly Grant[];
  /** Nodes that get one now, in order. */
  readonly granted: readonly string[];
  /** Prepared nodes that get none, with a sentence each; empty = the rollout as a whole says why. */
  readonly withheld: readonly NamedReason[];
}

/** Decides which prepared updates get a grant now, in the order of their turns. */
export function decideGrants(picture: Picture, limits: Limits): GrantDecision {
  const list = new GrantList(picture, limits);
  const waiting = picture.members.filter((member) => waits(member, list.of(member.name), picture));
  for (const member of inTurn(waiting)) list.consider(member);
  return list;
}

/** An update of the node is prepared, and no other one that may still run has a grant for it. */
function waits(member: Member, grant: Grant | undefined, picture: Picture): boolean {
  const { standing } = member;
  const { closed, target } = picture;
  const prepared = preparedNow(member, picture);
  if (prepared === undefined || prepared.run === grant?.run) return false;
  // Of one node only one update runs, so a later one follows an earlier one that has ended.
  const isEnded = (before: Grant): boolean =>
    isOver(before, member) || closed.has(before.run) || prepared.startedAt > before.startedAt;
  if (grant !== undefined && !isEnded(grant)) return false;
  return standing.is === 'taken' || (standing.is === 'open' && prepared.config === target);
}

/** The update of the node that waits, as far as it is known; one that has ended waits no more. */
export function preparedNow({ prepared }: Member, { closed, open }: Picture): Prepared | undefined {
  if (prepared === undefined || closed.has(prepared.run)) return undefined;
  const { run, isEarlier } = prepared;
  return isEarlier && open?.updates.some((update) => update.run === run) !== true
    ? undefined
    : prepared;
}

class GrantList implements GrantDecision {
  readonly granted: string[] = [];
  readonly withheld: NamedReason[] = [];
  readonly #grants: Map<string, Grant>;
  /** Nodes that count against `maxUnavailable`. */
  readonly #out: Set<string>;
  readonly #quorumOut: Set<string>;
  /** Nodes that try the config. */
  readonly #trying: Set<string>;

  constructor(
    private readonly picture: Picture,
    private readonly limits: Limits,
  ) {
    const grants = goingOn(picture);
    this.#grants = new Map(grants.map((grant) => [grant.node, grant]));
    this.#out = outOfService(picture.members, grants);
    const own = new Set(picture.quorum?.members);
    const granted = [...this.#out].filter((node) => own.has(node));
    this.#quorumOut = new Set([...(picture.quorum?.out ?? []), ...granted]);
    this.#trying = tryingNodes(picture, grants);
  }

  get grants(): readonly Grant[] {
    return [...this.#grants.values()];
  }

  of(node: string): Grant | undefined {
    return this.#grants.get(node);
  }

  consider(member: Member): void {
    const { name, uid, prepared } = member;
    if (prepared === undefined) return;
    // What a lost update has left is finished before anything else, also in a pool that stands still.
    const reason = member.standing.is === 'taken' ? undefined : this.#whyNot(member);
    if (reason !== undefined) {
      this.withheld.push({ node: name, reason });
      return;
    }
    const { run, startedAt, config, serves } = prepared;
    // At the end of the list, also where the node had one: who came before it has been told of less room.
    this.#grants.delete(name);
    this.#grants.set(name, {
      ...{ node: name, uid, run, startedAt, config, grantedAt: this.picture.now },
      ...(serves ? { serves: true as const } : {}),
    });
    this.granted.push(name);
    this.#trying.add(name);
    if (serves) return;
    this.#out.add(name);
    if (this.picture.quorum?.members.includes(name) === true) this.#quorumOut.add(name);
  }

  /** Empty = the rollout as a whole says why. */
  #whyNot(member: Member): string | undefined {
    const { isStandstill, isHalted, canaries } = this.limits;
    const { standing, name, prepared } = member;
    if (isStandstill) return '';
    if (isHalted && !(standing.is === 'open' && standing.isTold)) return '';
    if (canaries !== undefined && this.#trying.size >= canaries && !this.#trying.has(name)) {
      return canarySentence([...this.#trying]);
    }
    if (prepared?.serves === true) return this.#whyNotServing(name);
    // Whatever takes up a node that is out already takes nothing out.
    if (this.#out.has(name)) return undefined;
    return this.#whyNoQuorum(name) ?? this.#whyNoRoom();
  }

  #whyNotServing(name: string): string | undefined {
    // Its own grant may be of an earlier run, and stay until the node serves.
    const serving = this.grants.filter(({ serves, node }) => serves === true && node !== name);
    if (serving.length < Math.max(1, this.picture.prepareAhead)) return undefined;
    return `waiting for its turn: ${fewNames(serving.map(({ node }) => node))} change without going out of service`;
  }

  #whyNoQuorum(name: string): string | undefined {
    const { quorum } = this.picture;
    if (quorum?.members.includes(name) !== true) return undefined;
    if (this.#quorumOut.size < quorumLimit(quorum.total)) return undefined;
    const out = fewNames([...this.#quorumOut]);
    return `waiting for room: ${quorumSentence(quorum.total)}; out of service: ${out}`;
  }

  #whyNoRoom(): string | undefined {
    const { maxUnavailable } = this.picture;
    if (this.#out.size < maxUnavailable) return undefined;
    const out = this.#out.size === 0 ? '' : `; out of service: ${fewNames([...this.#out])}`;
    return `waiting for room: maxUnavailable is ${maxUnavailable}${out}`;
  }
}

/** Nodes with a grant that counts, or out of service by themselves. */
export function outOfService(members: readonly Member[], grants: readonly Grant[]): Set<string> {
  return new Set([
    ...grants.filter(({ serves }) => serves !== true).map(({ node }) => node),
    ...members.filter(({ isOut }) => isOut).map(({ name }) => name),
  ]);
}

/**
 * Nodes that try the config of the pool: with a grant for it that is in use, or left half done on it. One that has
 * failed on it is none any more: what stops a bad config is the failure threshold.
 */
function tryingNodes(picture: Picture, grants: readonly Grant[]): Set<string> {
  const { members, byName, target } = picture;
  const granted = grants.filter((grant) => {
    const is = byName.get(grant.node)?.standing.is;
    const isTried = is !== 'failed' && is !== 'updated' && !isGivenBack(grant, picture);
    return grant.config === target && isTried;
  });
  const halfDone = members.filter(
    ({ standing, desiredConfig }) =>
      standing.is === 'open' && standing.turn === 'halfDone' && desiredConfig === target,
  );
  return new Set([...granted.map(({ node }) => node), ...halfDone.map(({ name }) => name)]);
}

/** How many nodes may try a config at once while fewer than `canary.nodes` are verified on it; absent = any number. */
export function canariesOf(
  { canaryNodes }: Pick<ResolvedPolicy, 'canaryNodes'>,
  updated: number,
): number | undefined {
  const missing = canaryNodes - updated;
  return missing > 0 ? missing : undefined;
}

function canarySentence(trying: readonly string[]): string {
  return trying.length === 0
    ? 'waiting for the canary: no node may try the config yet'
    : `waiting for the canary: ${fewNames(trying)} must be verified on the config first`;
}
