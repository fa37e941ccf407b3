/** Which requirements apply to which scope, for the cluster and for each namespace. */

import { goQuote } from '../encoding/go-quote';
import { requirementOf, type Requirement } from './policy-requirement';
import { isNestedScope } from './scopes';
import type { ImagePolicy } from './types';

/** Requirements by scope. */
export type ScopePolicies = ReadonlyMap<string, readonly Requirement[]>;

export interface ScopedPolicies {
  readonly cluster: ScopePolicies;
  /** By namespace. */
  readonly namespaces: ReadonlyMap<string, ScopePolicies>;
  /** ImagePolicies of which some scopes do not apply. */
  readonly conflicts: readonly PolicyConflict[];
}

interface PolicyConflict {
  readonly namespace: string;
  readonly name: string;
  /** Condition `Pending`, status False. */
  readonly reason: 'ConflictScopes';
  /** In MCO's words. */
  readonly message: string;
}

/**
 * The policies of both kinds. A scope of an ImagePolicy does not apply when a ClusterImagePolicy
 * covers it.
 *
 * @throws `InvalidMachineConfig` when a policy is incomplete or wrong
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4),
 *   getValidScopePolicies
 */
export function scopedPolicies(
  clusterPolicies: readonly ImagePolicy[],
  namespacePolicies: readonly ImagePolicy[],
): ScopedPolicies {
  const cluster = new Map<string, readonly Requirement[]>();
  for (const { spec } of clusterPolicies) {
    const requirement = requirementOf(spec.policy);
    for (const scope of spec.scopes ?? []) append(cluster, scope, requirement);
  }
  const namespaces = new Map<string, Map<string, readonly Requirement[]>>();
  const conflicts: PolicyConflict[] = [];
  for (const { metadata, spec } of namespacePolicies) {
    const { name, namespace = '' } = metadata;
    const requirement = requirementOf(spec.policy);
    const covered = (scope: string): boolean =>
      [...cluster.keys()].some((other) => isNestedScope(scope, other));
    for (const scope of (spec.scopes ?? []).filter((one) => !covered(one))) {
      const own = namespaces.get(namespace) ?? new Map<string, readonly Requirement[]>();
      namespaces.set(namespace, append(own, scope, requirement));
    }
    const scopes = (spec.scopes ?? []).filter(covered);
    if (scopes.length > 0) conflicts.push({ namespace, name, ...conflictOf(scopes) });
  }
  return { cluster, namespaces, conflicts };
}

function append(
  policies: Map<string, readonly Requirement[]>,
  scope: string,
  requirement: Requirement,
): Map<string, readonly Requirement[]> {
  return policies.set(scope, [...(policies.get(scope) ?? []), requirement]);
}

function conflictOf(scopes: readonly string[]): Pick<PolicyConflict, 'reason' | 'message'> {
  const list = `[${scopes.map(goQuote).join(' ')}]`;
  const conflict = `has conflicting scope(s) ${list} that equal to or nest inside existing clusterimagepolicy`;
  return {
    reason: 'ConflictScopes',
    message: `${conflict}, only policy from clusterimagepolicy scope(s) will be applied`,
  };
}
