/**
 * Problems of pools that MCO does not show: an impossible field, or a node that several custom
 * pools claim. Both degrade the pools.
 */

import { messageOf } from '../../core/errors';
import { fewNames } from '../../core/few';
import { PoolCondition } from '../../core/names';
import type { Node } from '../../core/node/types';
import { checkMaxUnavailable } from '../../core/pool/capacity';
import { setCondition, type ConditionValue } from '../../core/pool/conditions';
import { poolsForNode, type Membership } from '../../core/pool/membership';
import type { PoolStatus } from '../../core/pool/status';
import type { MachineConfigPool } from '../../core/pool/types';

/** `reason` is a name of the error catalogue. */
export interface PoolProblem {
  readonly reason: 'InvalidPool' | 'NodeInSeveralPools';
  readonly message: string;
}

const NODES_NAMED = 10;

export function findProblems(
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
  membership: Membership,
): ReadonlyMap<string, readonly PoolProblem[]> {
  const problems = new Map<string, PoolProblem[]>();
  const add = (pool: string, problem: PoolProblem): void => {
    problems.set(pool, [...(problems.get(pool) ?? []), problem]);
  };
  for (const { pool, reason } of membership.invalidPools) {
    add(pool, { reason: 'InvalidPool', message: reason });
  }
  for (const pool of pools) {
    const message = fieldProblem(pool);
    if (message !== undefined) add(pool.metadata.name, { reason: 'InvalidPool', message });
  }
  for (const [pool, claims] of claimedTwice(nodes, pools, membership)) {
    add(pool, { reason: 'NodeInSeveralPools', message: describeClaims(claims) });
  }
  return problems;
}

function fieldProblem(pool: MachineConfigPool): string | undefined {
  const { name } = pool.metadata;
  if (pool.spec.nodeSelector === undefined) {
    return (
      `machineconfigpool ${name}: spec.nodeSelector is missing, so the pool has no nodes; ` +
      `add for example matchLabels: {"node-role.kubernetes.io/${name}": ""}`
    );
  }
  try {
    checkMaxUnavailable(pool);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

interface Claim {
  readonly node: string;
  readonly pools: readonly string[];
}

/** The contested nodes by pool. */
function claimedTwice(
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
  membership: Membership,
): ReadonlyMap<string, readonly Claim[]> {
  const claims = new Map<string, Claim[]>();
  if (membership.conflicts.length === 0) return claims;
  const contested = new Set(membership.conflicts.map(({ node }) => node));
  const invalid = new Set(membership.invalidPools.map(({ pool }) => pool));
  const valid = pools.filter(({ metadata }) => !invalid.has(metadata.name));
  for (const node of nodes) {
    if (!contested.has(node.metadata.name)) continue;
    const claim = { node: node.metadata.name, pools: claimantsOf(node, valid) };
    for (const pool of claim.pools) claims.set(pool, [...(claims.get(pool) ?? []), claim]);
  }
  return claims;
}

function claimantsOf(node: Node, pools: readonly MachineConfigPool[]): readonly string[] {
  try {
    poolsForNode(node, pools);
    return [];
  } catch (error) {
    const details = (error as { details?: { pools?: unknown } }).details;
    return Array.isArray(details?.pools) ? (details.pools as readonly string[]) : [];
  }
}

function describeClaims(claims: readonly Claim[]): string {
  const named = claims.map(({ node, pools }) => `${node} (${[...pools].sort().join(', ')})`);
  const subject = claims.length === 1 ? 'node' : 'nodes';
  return (
    `${subject} ${fewNames(named, { most: NODES_NAMED })}: in more than one custom pool, so no pool updates ` +
    `${claims.length === 1 ? 'it' : 'them'}; remove all but one of the custom role labels`
  );
}

/**
 * Adds the problems to the Degraded condition. Conditions start from the current ones, so that
 * times survive and an unchanged status stays equal.
 *
 * @param now - RFC 3339
 */
export function withProblems(
  status: PoolStatus,
  problems: readonly PoolProblem[],
  pool: MachineConfigPool,
  now: string,
): PoolStatus {
  const [first] = problems;
  if (first === undefined) return status;
  const conditions = status.conditions ?? [];
  const computed = conditions.find(({ type }) => type === PoolCondition.DEGRADED);
  const messages = [
    ...(computed?.status === 'True' && computed.message !== '' ? [computed.message] : []),
    ...problems.map(({ message }) => message),
  ];
  const degraded: ConditionValue = {
    type: PoolCondition.DEGRADED,
    status: 'True',
    reason: first.reason,
    message: messages.join('; '),
  };
  const before = (pool.status?.conditions ?? []).find(({ type }) => type === degraded.type);
  const others = conditions.filter(({ type }) => type !== PoolCondition.DEGRADED);
  const base = before === undefined ? others : [...others, before];
  return { ...status, conditions: setCondition(base, degraded, now) };
}
