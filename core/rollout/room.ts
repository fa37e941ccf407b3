/**
 * The last look before a cordon: since the grant was given, a node may have gone down by itself, or `maxUnavailable`
 * may have been lowered. The list of grants is in order, so that of several that are used at the same moment each
 * counts those before it, and none waits for all.
 */

import { fewNames } from '../few';
import type { Node } from '../node/types';
import { isInService } from '../node/availability';
import { quorumLimit, quorumSentence } from './control-plane';
import type { Grant } from './pool-rollout';

export interface Room {
  readonly node: string;
  readonly run: string;
  readonly grants: readonly Grant[];
  readonly members: readonly Node[];
  readonly maxUnavailable: number;
  /** The control-plane nodes of the cluster; absent = the node is none of them. */
  readonly controlPlane?: readonly Node[];
  /** Of other pools with control-plane nodes: those that were given earlier are ahead, too. */
  readonly elsewhere?: readonly Grant[];
}

/**
 * @returns undefined = there is room. Else what it waits for. A node that is out of service needs none, and neither
 * does an update that serves.
 */
export function whyNoRoom(room: Room): string | undefined {
  const { node, run, grants, members, maxUnavailable, controlPlane = [], elsewhere = [] } = room;
  const place = grants.findIndex((grant) => grant.node === node && grant.run === run);
  const own = grants[place];
  if (own === undefined) return 'waiting for its grant';
  if (own.serves === true || isOut(members, node)) return undefined;
  const ahead = grants.slice(0, place).filter(({ serves }) => serves !== true);
  const out = new Set([...ahead.map((grant) => grant.node), ...downOf(members)]);
  if (out.size + 1 > maxUnavailable) {
    const names = out.size === 0 ? '' : `; out of service: ${fewNames([...out])}`;
    return `waiting for room: maxUnavailable is ${maxUnavailable}${names}`;
  }
  const earlier = elsewhere.filter((grant) => grant.serves !== true && isEarlier(grant, own));
  const aheadInPlane = new Set([...ahead, ...earlier].map((grant) => grant.node));
  const plane = controlPlane.map(({ metadata }) => metadata.name);
  const outOfPlane = new Set([
    ...downOf(controlPlane),
    ...plane.filter((name) => aheadInPlane.has(name)),
  ]);
  if (plane.length === 0 || outOfPlane.size < quorumLimit(plane.length)) return undefined;
  return `waiting for room: ${quorumSentence(plane.length)}; out of service: ${fewNames([...outOfPlane])}`;
}

/** The same for both: of two grants one is ahead. */
function isEarlier(one: Grant, other: Grant): boolean {
  const between = Date.parse(one.grantedAt) - Date.parse(other.grantedAt);
  return between === 0 ? one.node < other.node : between < 0;
}

function isOut(members: readonly Node[], name: string): boolean {
  return downOf(members).includes(name);
}

function downOf(nodes: readonly Node[]): readonly string[] {
  return nodes.filter((node) => !isInService(node)).map(({ metadata }) => metadata.name);
}
