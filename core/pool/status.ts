/**
 * The status of a pool: a pure function of the pool, its nodes and their MachineConfigNodes.
 *
 * @see MCO pkg/controller/node/status.go, calculateStatus (7ff337a4; image mode reporting off)
 */

import { goQuote } from '../encoding/go-quote';
import { ANNOTATION, NodeCondition, PoolCondition } from '../names';
import {
  annotationOf,
  desiredConfigOf,
  isDegraded,
  isReady,
  isUnavailable,
  isUpdatedTo,
} from '../node/predicates';
import type { MachineConfigNode, Node } from '../node/types';
import type { Condition } from '../object-meta';
import { setCondition, type ConditionValue } from './conditions';
import {
  buildDegradedCleared,
  isBuildOpen,
  isUpdatedInPool,
  updateLine,
  updatingOfLayered,
  type Layering,
} from './layering';
import type { MachineConfigPool } from './types';

export type PoolStatus = NonNullable<MachineConfigPool['status']>;

interface StatusInput {
  readonly pool: MachineConfigPool;
  readonly nodes: readonly Node[];
  readonly machineConfigNodes: readonly MachineConfigNode[];
  /** RFC 3339; becomes the transition time of what changes. */
  readonly now: string;
  /** Absent = the pool is not layered. */
  readonly layering?: Layering;
}

/**
 * The status exactly as MCO computes it. `status.configuration` follows `spec.configuration` only
 * when every node is updated, ready and available. Conditions of other writers (RenderDegraded)
 * stay.
 */
export function calculateStatus(input: StatusInput): PoolStatus {
  const { pool, layering = {} } = input;
  return statusWith(input, (node) => isUpdatedInPool(node, pool, layering));
}

function statusWith(input: StatusInput, isUpdated: (node: Node) => boolean): PoolStatus {
  const { pool, nodes, layering = {} } = input;
  const counts = countNodes(nodes, isUpdated);
  const allUpdated =
    counts.updatedMachineCount === nodes.length &&
    counts.readyMachineCount === nodes.length &&
    counts.unavailableMachineCount === 0 &&
    !isBuildOpen(layering);
  const reports = degradedReports(input);
  const cleared = buildDegradedCleared(pool.status?.conditions, layering);
  const values = [
    ...updateConditions(pool, layering, allUpdated),
    nodeDegradedCondition(counts.degradedMachineCount, reports),
    ...(cleared === undefined ? [] : [cleared]),
  ];
  const configuration = allUpdated ? pool.spec.configuration : pool.status?.configuration;
  return {
    ...pool.status,
    ...(pool.metadata.generation === undefined
      ? {}
      : { observedGeneration: pool.metadata.generation }),
    ...(configuration === undefined ? {} : { configuration }),
    ...counts,
    conditions: withDegraded(pool.status?.conditions ?? [], values, input.now),
  };
}

/**
 * The status that Slipway writes: MCO's with three corrections. NodeDegraded counts and names the
 * same nodes, where MCO may say "0 nodes"; Degraded has the message of RenderDegraded; a node with
 * an image that MCO has built is not updated, although MCO counts it.
 */
export function poolStatus(input: StatusInput): PoolStatus {
  const target = input.pool.spec.configuration?.name;
  const status = statusWith(input, (node) => isUpdatedTo(node, target));
  const messages = degradedMessages(input.machineConfigNodes);
  const degraded = input.nodes.filter(isCountedDegraded);
  const reports = degraded.map((node) => {
    const message = annotationOf(node, ANNOTATION.REASON) ?? messages.get(node.metadata.name);
    return report(node.metadata.name, message ?? 'no reason given');
  });
  const value = nodeDegradedCondition(degraded.length, { machines: degraded.length, reports });
  // Starts from the pool's conditions, so that a text that MCO's rule changes and this one restores
  // does not count as a change.
  const others = otherConditionsOf(status);
  return {
    ...status,
    conditions: withDegraded(input.pool.status?.conditions ?? [], [...others, value], input.now, {
      alsoRender: true,
    }),
  };
}

type Counts = Required<
  Pick<
    PoolStatus,
    | 'machineCount'
    | 'updatedMachineCount'
    | 'readyMachineCount'
    | 'unavailableMachineCount'
    | 'degradedMachineCount'
  >
>;

function countNodes(nodes: readonly Node[], isUpdated: (node: Node) => boolean): Counts {
  const updated = nodes.filter(isUpdated);
  return {
    machineCount: nodes.length,
    updatedMachineCount: updated.length,
    readyMachineCount: updated.filter(isReady).length,
    unavailableMachineCount: nodes.filter(isUnavailable).length,
    degradedMachineCount: nodes.filter(isCountedDegraded).length,
  };
}

/** A node without a desired config is not counted, whatever its state. */
function isCountedDegraded(node: Node): boolean {
  return desiredConfigOf(node) !== undefined && isDegraded(node);
}

function updateConditions(
  pool: MachineConfigPool,
  layering: Layering,
  allUpdated: boolean,
): readonly ConditionValue[] {
  const target = updateLine(pool, layering);
  const updated: ConditionValue = allUpdated
    ? {
        type: PoolCondition.UPDATED,
        status: 'True',
        message: `All nodes are updated with ${target}`,
      }
    : { type: PoolCondition.UPDATED, status: 'False' };
  const byBuild = updatingOfLayered(pool, layering, allUpdated);
  return [updated, byBuild ?? updatingOf(pool, target, allUpdated)];
}

function updatingOf(pool: MachineConfigPool, target: string, allUpdated: boolean): ConditionValue {
  const type = PoolCondition.UPDATING;
  if (allUpdated) return { type, status: 'False' };
  return pool.spec.paused === true
    ? { type, status: 'False', message: `Pool is paused; will not update to ${target}` }
    : { type, status: 'True', message: `All nodes are updating to ${target}` };
}

/** The computed conditions, without NodeDegraded and what follows from it. */
function otherConditionsOf(status: PoolStatus): readonly ConditionValue[] {
  const { UPDATED, UPDATING, IMAGE_BUILD_DEGRADED } = PoolCondition;
  return [UPDATED, UPDATING, IMAGE_BUILD_DEGRADED].flatMap((type) =>
    (status.conditions ?? [])
      .filter((condition) => condition.type === type)
      .map(({ status: value, reason, message }) => ({ type, status: value, reason, message })),
  );
}

interface DegradedReports {
  readonly machines: number;
  readonly reports: readonly string[];
}

/**
 * MCO's text: first the messages of the MachineConfigNodes, then the reason annotations of the same
 * nodes. The first MachineConfigNode without any condition hides all that follow.
 */
function degradedReports({ nodes, machineConfigNodes }: StatusInput): DegradedReports {
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  const machines: Node[] = [];
  const reports: string[] = [];
  for (const state of machineConfigNodes) {
    const conditions = state.status?.conditions ?? [];
    if (conditions.length === 0) break;
    const node = byName.get(state.metadata.name);
    const degraded = conditions.find(isNodeDegraded);
    // MCO dereferences a missing node here and panics; a node that has just left has no report.
    if (degraded === undefined || node === undefined) continue;
    machines.push(node);
    reports.push(report(node.metadata.name, degraded.message));
  }
  for (const node of machines) {
    const reason = annotationOf(node, ANNOTATION.REASON);
    if (reason !== undefined) reports.push(report(node.metadata.name, reason));
  }
  return { machines: machines.length, reports };
}

function degradedMessages(states: readonly MachineConfigNode[]): ReadonlyMap<string, string> {
  return new Map(
    states.flatMap((state) => {
      const message = state.status?.conditions?.find(isNodeDegraded)?.message;
      return message ? [[state.metadata.name, message] as const] : [];
    }),
  );
}

function isNodeDegraded(condition: Condition): boolean {
  return condition.type === NodeCondition.NODE_DEGRADED && condition.status === 'True';
}

function report(node: string, message: string): string {
  return `Node ${node} is reporting: ${goQuote(message)}`;
}

function nodeDegradedCondition(degraded: number, reports: DegradedReports): ConditionValue {
  const type = PoolCondition.NODE_DEGRADED;
  if (degraded === 0) return { type, status: 'False' };
  return {
    type,
    status: 'True',
    reason: `${reports.machines} nodes are reporting degraded status on sync`,
    message: reports.reports.join(', '),
  };
}

/**
 * Sets the given conditions, and Degraded from NodeDegraded (with its message), RenderDegraded and
 * ImageBuildDegraded.
 *
 * @param explained - adds the message of RenderDegraded, which MCO leaves out
 */
function withDegraded(
  before: readonly Condition[],
  values: readonly ConditionValue[],
  now: string,
  explained: { readonly alsoRender?: true } = {},
): readonly Condition[] {
  const set = (conditions: readonly Condition[], value: ConditionValue) =>
    setCondition(conditions, value, now);
  const conditions = values.reduce(set, before);
  const found = [
    PoolCondition.NODE_DEGRADED,
    PoolCondition.RENDER_DEGRADED,
    PoolCondition.IMAGE_BUILD_DEGRADED,
  ].flatMap((type) =>
    conditions.filter((condition) => condition.type === type && condition.status === 'True'),
  );
  const own = found.find(({ type }) => type !== PoolCondition.RENDER_DEGRADED);
  const said = explained.alsoRender === true ? found : own === undefined ? [] : [own];
  const degraded: ConditionValue = {
    type: PoolCondition.DEGRADED,
    status: found.length > 0 ? 'True' : 'False',
    message: said
      .map(degradedMessage)
      .filter((message) => message !== '')
      .join('; '),
  };
  return set(conditions, degraded);
}

/** The builder's message names the build, and stays with its own condition. */
function degradedMessage({ type, message = '' }: Condition): string {
  return type === PoolCondition.IMAGE_BUILD_DEGRADED ? 'Custom OS image build failed' : message;
}
