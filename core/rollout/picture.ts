/** What one step of a rollout decides from: the cluster as its caches show it, and what Temporal says. */

import { NodeCondition } from '../names';
import { isSimulated } from '../node/predicates';
import type { MachineConfigNode, Node } from '../node/types';
import type { MachineConfigPool, ResolvedPolicy } from '../pool/types';
import { controlPlaneRoom, slotsOfPool, type ControlPlaneRoom } from './control-plane';
import { GRANTS_AT_MOST, type PoolRolloutStatus } from './pool-rollout';
import { memberOf, type Member } from './standing';

/** An open update of a node, as Temporal lists it. */
export interface OpenUpdate {
  readonly node: string;
  readonly run: string;
  readonly config: string;
  /** Of the Node for which it began. */
  readonly uid?: string;
  /** It takes the node back, so that nobody holds or retargets it. */
  readonly takesBack?: true;
}

/** As visibility showed them, which is a moment behind. */
export interface OpenUpdates {
  /** RFC 3339. */
  readonly listedAt: string;
  readonly updates: readonly OpenUpdate[];
}

export interface Observation {
  readonly pool: MachineConfigPool;
  readonly policy: ResolvedPolicy;
  /** Nodes whose primary pool this is. */
  readonly nodes: readonly Node[];
  /** Why nobody knows which nodes these are: the pool has a selector that Kubernetes would refuse. */
  readonly unreadable?: string;
  /** The control-plane nodes of the cluster. */
  readonly controlPlane: readonly Node[];
  readonly machineConfigNodes: readonly MachineConfigNode[];
  /** As the PoolRollout was read; absent = there is none, or it has no status. */
  readonly before?: PoolRolloutStatus;
  /** Open updates of the pool; absent = Temporal was not asked. */
  readonly open?: OpenUpdates;
  /** Runs that Temporal, asked by their ID, calls closed. */
  readonly closed: ReadonlySet<string>;
  /** A person has cancelled the rollout, whatever config its pool has by now. */
  readonly isCancelled?: boolean;
  /** RFC 3339. */
  readonly now: string;
}

export interface Picture extends Omit<
  Observation,
  'nodes' | 'controlPlane' | 'machineConfigNodes'
> {
  readonly target?: string;
  /** When the pool got this config, RFC 3339. */
  readonly startedAt: string;
  readonly paused: boolean;
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
  /** How many updates run ahead of their grants, so that downloads are over when there is room. */
  readonly prepareAhead: number;
  readonly maxUnavailable: number;
  /** As the pool allows it, before it is limited to `GRANTS_AT_MOST`. */
  readonly allowedUnavailable: number;
  /** Why that is 0: the pool has an impossible field. */
  readonly invalid?: string;
  /** Absent = no member is of the control plane. */
  readonly quorum?: ControlPlaneRoom;
  readonly simulated: number;
}

export function pictureOf(seen: Observation): Picture {
  const { pool, nodes, controlPlane, machineConfigNodes, ...rest } = seen;
  const target = pool.spec.configuration?.name || undefined;
  const known = new Map(machineConfigNodes.map((one) => [one.metadata.name, one]));
  const members = nodes.map((node) =>
    memberOf(node, knownOf(known.get(node.metadata.name), target)),
  );
  const unavailable = members.filter(({ isOut }) => isOut).map(({ node }) => node);
  const quorum = controlPlaneRoom(pool, { all: controlPlane, members: nodes, unavailable });
  const slots = slotsOfPool(pool, nodes, quorum?.total ?? 0);
  const maxUnavailable = Math.min(slots.maxUnavailable, GRANTS_AT_MOST);
  const { before, now, policy } = rest;
  return {
    ...{ ...rest, pool, members },
    startedAt: (before?.config === target ? before?.startedAt : undefined) ?? now,
    ...(target === undefined ? {} : { target }),
    paused: pool.spec.paused === true,
    byName: new Map(members.map((member) => [member.name, member])),
    ...{ ...slots, maxUnavailable, allowedUnavailable: slots.maxUnavailable },
    prepareAhead: policy.prepareAhead ?? maxUnavailable,
    ...(quorum === undefined ? {} : { quorum }),
    simulated: nodes.filter(isSimulated).length,
  };
}

function knownOf(machineConfigNode: MachineConfigNode | undefined, target: string | undefined) {
  const message = machineConfigNode?.status?.conditions?.find(
    ({ type, status }) => type === NodeCondition.NODE_DEGRADED && status === 'True',
  )?.message;
  return {
    ...(target === undefined ? {} : { target }),
    ...(machineConfigNode === undefined ? {} : { machineConfigNode }),
    ...(message ? { message } : {}),
  };
}
