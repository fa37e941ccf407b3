/** Nodes of a rollout as their updates leave them, and a decision about them. */

import { ANNOTATION } from '../../../../core/names';
import { preparedMark } from '../../../../core/node/prepared';
import { markOf, overMarkOf } from '../../../../core/node/turn';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { ResolvedPolicy } from '../../../../core/pool/types';
import { decide, type Decision } from '../../../../core/rollout/decide';
import type { OpenUpdate } from '../../../../core/rollout/picture';
import { controlPlaneOf } from '../../../../core/rollout';
import type { Grant, PoolRolloutStatus } from '../../../../core/rollout/pool-rollout';
import { DEFAULT_POLICY } from '../../../../core/rollout';
import { A, aNode, aPool, B, type NodeFacts, updated } from '../pool/builders';

export const NOW = '2029-06-02T00:00:00Z';
export const BEFORE = '2029-06-01T23:00:00Z';
export const OURS = 'update-node/n';

/** Runs are named after the order in which they began: `r1` before `r2`. */
export function aRun(id: string): { readonly id: string; readonly startedAt: string } {
  return { id, startedAt: `2029-06-01T00:00:0${id.slice(-1)}Z` };
}

function withMark(name: string, facts: NodeFacts, mark: string): Node {
  return known(
    aNode(name, { ...facts, annotations: { [ANNOTATION.UPDATE_RUN]: mark, ...facts.annotations } }),
  );
}

export function known(node: Node): Node {
  return { ...node, metadata: { ...node.metadata, uid: `uid-${node.metadata.name}` } };
}

/** Not on the config, and nobody has begun. */
export function old(name: string, facts: NodeFacts = {}): Node {
  return known(aNode(name, facts));
}

/** On the config, given back by a run. */
export function done(name: string, facts: NodeFacts = {}, run = 'r1'): Node {
  const annotations = { [ANNOTATION.UPDATE_RUN]: overMarkOf(aRun(run)), ...facts.annotations };
  return known(updated(name, { ...facts, annotations }));
}

/** Cordoned by its update, which has not given it back. */
export function cordoned(name: string, run = 'r1', facts: NodeFacts = {}): Node {
  const working = { desired: B, state: 'Working', cordonedBy: OURS };
  return withMark(name, { ...working, ...facts }, markOf(aRun(run)));
}

/** Given back, failed on the config. */
export function failed(name: string, facts: NodeFacts = {}, run = 'r1'): Node {
  const state = { desired: B, state: 'Degraded', reason: 'VerifyFailed: no' };
  return withMark(name, { ...state, ...facts }, overMarkOf(aRun(run)));
}

export function grantOf(node: string, run = 'r1', more: Partial<Grant> = {}): Grant {
  const { startedAt } = aRun(run);
  return { node, uid: `uid-${node}`, run, startedAt, config: B, grantedAt: BEFORE, ...more };
}

/** Its update waits for a grant. */
export function waits(name: string, run = 'r1', config = B, serves = false): MachineConfigNode {
  return {
    metadata: {
      name,
      annotations: { [ANNOTATION.PREPARED]: preparedMark(aRun(run), config, serves) },
    },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: config } },
  };
}

export interface Situation {
  readonly nodes: readonly Node[];
  readonly waiting?: readonly MachineConfigNode[];
  readonly grants?: readonly Grant[];
  readonly max?: number | string;
  /** Absent = those of `nodes`. */
  readonly controlPlane?: readonly Node[];
  readonly policy?: Partial<ResolvedPolicy>;
  readonly closed?: readonly string[];
  readonly open?: readonly OpenUpdate[];
  /** When Temporal listed them. */
  readonly listedAt?: string;
  readonly isCancelled?: boolean;
  readonly paused?: boolean;
  readonly unreadable?: string;
  readonly target?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly before?: Partial<PoolRolloutStatus>;
}

/** Without canaries unless the situation asks for them. */
export function decideOn(situation: Situation): Decision {
  const { nodes, waiting = [], grants = [], max = 2, policy, closed = [], open = [] } = situation;
  const { paused = false, target = B, annotations = {}, before } = situation;
  const { listedAt = NOW, isCancelled = false } = situation;
  const pool = aPool({ maxUnavailable: max, paused, configuration: { name: target } });
  return decide({
    pool: { ...pool, metadata: { ...pool.metadata, annotations } },
    policy: { ...DEFAULT_POLICY, canaryNodes: 0, ...policy },
    nodes,
    controlPlane: situation.controlPlane ?? controlPlaneOf(nodes),
    machineConfigNodes: waiting,
    before: { ...STATUS, ...before, grants },
    open: { listedAt, updates: open },
    closed: new Set(closed),
    isCancelled,
    ...(situation.unreadable === undefined ? {} : { unreadable: situation.unreadable }),
    now: NOW,
  });
}

const STATUS: PoolRolloutStatus = {
  config: B,
  startedAt: BEFORE,
  state: 'Rolling',
  done: '0/0',
  counts: {
    ...{ machines: 0, updated: 0, outOfService: 0, mayBeOut: 0 },
    ...{ waiting: 0, failed: 0, held: 0, blocked: 0 },
  },
  failed: [],
  held: [],
  grants: [],
};

/** `node:run` of each grant, in order. */
export function grantsOf({ status }: Decision): readonly string[] {
  return status.grants.map(({ node, run }) => `${node}:${run}`);
}

export function startsOf({ start }: Decision): readonly string[] {
  return start.map(({ node, config, takesBack }) =>
    [node, ...(config === B ? [] : [config]), ...(takesBack ? ['back'] : [])].join(' '),
  );
}

export { A, B };
