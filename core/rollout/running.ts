/** Which updates should run, which should not, and which runs have to be asked for. */

import type { FoundNode } from '../node/update-states';
import { isGivenBack, isOver, outOfService, preparedNow, type Limits } from './grants';
import type { OpenUpdate, Picture } from './picture';
import type { Grant } from './pool-rollout';
import { inTurn, type Member } from './standing';

/** An update that should run. */
export interface WantedUpdate {
  readonly node: string;
  readonly uid: string;
  readonly config: string;
  readonly currentConfig?: string;
  readonly found: FoundNode;
  /** A person holds the node, or has cancelled the rollout: it goes back to what it was on. */
  readonly takesBack?: true;
  /** The run that has given the node back: none that goes on, whatever Temporal lists. */
  readonly after?: string;
}

/** An update that should end: its Node is gone, moved or held, or its config is not wanted any more. */
export interface UnwantedUpdate {
  readonly node: string;
  readonly run: string;
  readonly reason: string;
}

export const CANCELLED_BY_PERSON = 'a person cancelled the rollout';

/** Visibility is seldom further behind. */
export const VISIBILITY_LAG_MS = 5_000;

/**
 * Runs that may have ended without a word: Temporal does not list them as open, although they had their grant by then;
 * or another run of the node has come. They are asked for by their ID.
 */
export function runsInDoubt(picture: Picture, grants: readonly Grant[]): readonly Grant[] {
  const { open, closed, byName } = picture;
  const running = new Set(open?.updates.map(({ run }) => run));
  const shownUntil = open === undefined ? -Infinity : Date.parse(open.listedAt) - VISIBILITY_LAG_MS;
  return grants.filter((grant) => {
    const { node, run, grantedAt } = grant;
    const member = byName.get(node);
    if (member === undefined || closed.has(run) || isOver(grant, member)) return false;
    // By a clock that was set back, another run of the node may seem earlier.
    const { prepared } = member;
    const hasFollower = prepared !== undefined && prepared.run !== run;
    return hasFollower || (!running.has(run) && Date.parse(grantedAt) < shownUntil);
  });
}

/**
 * Of updates that were lost: whose node has to be taken up; and whose node serves, so that the run is only said to be
 * over, and whatever it still writes is refused. What that one left half done is finished in its turn.
 */
export function lostOf(
  { closed, byName }: Picture,
  { isCancelled }: { readonly isCancelled: boolean },
  grants: readonly Grant[],
): { readonly toTakeUp: readonly Member[]; readonly toClose: readonly Grant[] } {
  const toTakeUp: Member[] = [];
  const toClose: Grant[] = [];
  for (const grant of grants) {
    const member = byName.get(grant.node);
    if (member === undefined || !closed.has(grant.run) || isOver(grant, member)) continue;
    const isUnwanted = isCancelled || member.heldBecause !== undefined;
    const isLeft = member.standing.is === 'taken' && (member.isOut || isUnwanted);
    if (isLeft) toTakeUp.push(member);
    else toClose.push(grant);
  }
  return { toTakeUp, toClose };
}

export interface WantedUpdates {
  readonly start: readonly WantedUpdate[];
  /** More are to be started, but not now. */
  readonly isPutOff: boolean;
}

/**
 * The updates that should run, in the order of their turns: first what lost updates have left, also in a pool that
 * stands still; then, ahead of their grants, the first of the open nodes. Each stays in the list until it runs, so
 * whatever was not started is started by a later step.
 */
export function wantedUpdates(
  picture: Picture,
  limits: Limits & { readonly isCancelled: boolean },
  grants: readonly Grant[],
): WantedUpdates {
  const { toTakeUp } = lostOf(picture, limits, grants);
  const { target } = picture;
  const lost = inTurn(toTakeUp).flatMap((member) => takenUp(member, limits, target));
  if (target === undefined || limits.isCancelled) return { start: lost, isPutOff: false };
  if (limits.isStandstill) {
    // Their hosts are settled; they get no grant.
    const left = inTurn(picture.members.filter(isHalfDone));
    return { start: [...lost, ...left.flatMap((one) => wanted(one, target))], isPutOff: false };
  }
  const { next, isPutOff } = nextToPrepare(picture, limits, grants);
  return { start: [...lost, ...next.flatMap((one) => wanted(one, target))], isPutOff };
}

/** A node that a person holds is taken back, and so is one of a rollout that a person cancelled. */
function takenUp(
  member: Member,
  { isCancelled }: { readonly isCancelled: boolean },
  target: string | undefined,
): readonly WantedUpdate[] {
  const { heldBecause, currentConfig, desiredConfig } = member;
  const isUnwanted = heldBecause !== undefined || isCancelled;
  if (!isUnwanted || currentConfig === undefined) return wanted(member, target ?? desiredConfig);
  return wanted(member, currentConfig).map((update) => ({ ...update, takesBack: true as const }));
}

function wanted(member: Member, config: string | undefined): readonly WantedUpdate[] {
  if (config === undefined) return [];
  const { name, uid, currentConfig, last } = member;
  return [
    {
      ...{ node: name, uid, config, found: foundOf(member) },
      ...(currentConfig === undefined ? {} : { currentConfig }),
      ...(last?.isOver === true ? { after: last.id } : {}),
    },
  ];
}

function isHalfDone({ standing }: Member): boolean {
  return standing.is === 'open' && standing.turn === 'halfDone';
}

function foundOf(member: Member): FoundNode {
  const { standing } = member;
  if (standing.is === 'taken' || isHalfDone(member)) return 'lost';
  if (standing.is !== 'open') return 'whole';
  return standing.turn === 'repair' ? 'left' : 'whole';
}

/** So long after a grant, nodes are coming and going. */
const BUSY_MS = 2_000;
/** The updates ahead may become so few before others are started in that time. */
const FEW_AHEAD = 0.1;

function nextToPrepare(
  picture: Picture,
  { isHalted }: Limits,
  grants: readonly Grant[],
): { readonly next: readonly Member[]; readonly isPutOff: boolean } {
  const working = new Set(
    grants.filter((one) => !isGivenBack(one, picture)).map(({ node }) => node),
  );
  const open = inTurn(
    picture.members.filter(({ standing, name }) => standing.is === 'open' && !working.has(name)),
  );
  // One that is prepared stays in the list: its update may have been lost since.
  const isReady = (member: Member) => preparedNow(member, picture)?.config === picture.target;
  // They cost no room or are asked for, so they wait for no other.
  const isFirst = ({ standing }: Member): boolean =>
    standing.is === 'open' &&
    (standing.isTold || standing.turn === 'repair' || standing.turn === 'halfDone');
  const ready = open.filter(isReady).length;
  const ahead = aheadOf(picture, grants);
  const others = open.filter((member) => !isReady(member) && !isFirst(member));
  const begins = isHalted ? [] : others.slice(0, Math.max(0, ahead - ready));
  const isPutOff = begins.length > 0 && ready > ahead * FEW_AHEAD && isBusy(picture, grants);
  const left = new Set(isPutOff ? others : others.slice(begins.length));
  return { next: open.filter((member) => !left.has(member)), isPutOff };
}

/** How many updates may be prepared and wait. */
function aheadOf(picture: Picture, grants: readonly Grant[]): number {
  const free = picture.maxUnavailable - outOfService(picture.members, grants).size;
  return Math.max(picture.prepareAhead, free);
}

/** Nodes that come and go need the cluster now; what only waits for them can begin a moment later. */
function isBusy({ now }: Picture, grants: readonly Grant[]): boolean {
  const since = Date.parse(now) - BUSY_MS;
  return grants.some(({ grantedAt }) => Date.parse(grantedAt) > since);
}

/** Updates of the pool that run and should not. Past its point of no return, an update finishes first by itself. */
export function unwantedUpdates(picture: Picture, isCancelled: boolean): readonly UnwantedUpdate[] {
  return (picture.open?.updates ?? []).flatMap((update) => {
    const reason = whyUnwanted(update, picture, isCancelled);
    return reason === undefined ? [] : [{ node: update.node, run: update.run, reason }];
  });
}

function whyUnwanted(
  { node, uid, config, takesBack }: OpenUpdate,
  { byName, pool, target }: Picture,
  isCancelled: boolean,
): string | undefined {
  const member = byName.get(node);
  if (member === undefined) return `node ${node} is in pool ${pool.metadata.name} no more`;
  if (uid !== undefined && uid !== member.uid) {
    return `node ${node} was deleted, and there is another one of its name now`;
  }
  if (takesBack === true) {
    return member.standing.is === 'taken' ? undefined : 'there is nothing left to take back';
  }
  if (member.heldBecause !== undefined) return member.heldBecause;
  if (isCancelled) return CANCELLED_BY_PERSON;
  return config === target ? undefined : `the pool is rolled to ${target ?? 'no config'} now`;
}
