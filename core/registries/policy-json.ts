/** What registries and image policies change in `policy.json`, for the cluster and per namespace. */

import { goQuote } from '../encoding/go-quote';
import { fail } from '../errors';
import { payloadReference, type ValidLists } from './blocked-registries';
import type { ScopePolicies } from './image-policies';
import {
  parsePolicyFile,
  policyFileText,
  type PolicyFile,
  type TransportScopes,
} from './policy-file';
import { ACCEPT, REJECT, type Requirement } from './policy-requirement';
import { isNestedScope, isRegistryScope } from './scopes';

export type PolicyLists = Pick<ValidLists, 'policyBlocked' | 'allowed'>;

/**
 * The base file with the lists and the policies of the cluster. Without any, it is the base itself.
 *
 * @param base - JSON; its scopes of the transports `docker` and `atomic` are replaced
 * @throws `InvalidMachineConfig` in MCO's words when both lists are set (except for the release's
 * repository alone), when a policy is outside of the allowed or inside of the blocked registries,
 * when a scope has a wrong wildcard, and when the base cannot be read
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4), updatePolicyJSON
 */
export function updatePolicyJson(
  base: string,
  lists: PolicyLists,
  { releaseImage, cluster }: { readonly releaseImage: string; readonly cluster: ScopePolicies },
): string {
  const { policyBlocked, allowed } = lists;
  refuseBothLists(lists, releaseImage);
  refusePolicyScopes('clusterimagePolicy', cluster.keys(), lists);
  if (allowed === undefined && policyBlocked === undefined && cluster.size === 0) return base;
  refuseScopes(lists);
  const policy = parsePolicyFile(base);
  const scopes = new Map<string, readonly Requirement[]>();
  for (const scope of allowed ?? []) if (!cluster.has(scope)) scopes.set(scope, [ACCEPT]);
  for (const scope of policyBlocked ?? []) scopes.set(scope, [REJECT]);
  for (const [scope, requirements] of cluster) {
    scopes.set(scope, [...(scopes.get(scope) ?? []), ...requirements]);
  }
  const transports = new Map(policy.transports);
  if (scopes.size > 0) {
    transports.set('docker', scopes);
    transports.set('atomic', shallowScopes(scopes));
  }
  return policyFileText({ default: defaultOf(policy, lists), transports });
}

function defaultOf(policy: PolicyFile, { policyBlocked = [], allowed = [] }: PolicyLists) {
  if (policyBlocked.length > 0) return [ACCEPT];
  return allowed.length > 0 ? [REJECT] : policy.default;
}

/** The transport `atomic` knows no scopes with three or more slashes. */
function isShallow(scope: string): boolean {
  return scope.split('/').length <= 3;
}

function shallowScopes(scopes: TransportScopes): TransportScopes {
  return new Map([...scopes].filter(([scope]) => isShallow(scope)));
}

/**
 * A file per namespace: the cluster's with the policies of the namespace.
 *
 * @param clusterJson - as written for the cluster
 * @returns by namespace, in their order
 * @throws `InvalidMachineConfig` in MCO's words when a policy is outside of the allowed or inside of
 * the blocked registries, or when the cluster's file cannot be read
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   updateNamespacedPolicyJSONs
 */
export function namespacePolicyJsons(
  clusterJson: string,
  lists: PolicyLists,
  namespaces: ReadonlyMap<string, ScopePolicies>,
): readonly (readonly [namespace: string, text: string])[] {
  const scopes = new Set([...namespaces.values()].flatMap((policies) => [...policies.keys()]));
  refusePolicyScopes('imagePolicy', scopes, lists);
  const sorted = [...namespaces].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([namespace, policies]) => {
    const policy = parsePolicyFile(clusterJson);
    const transports = new Map(policy.transports);
    transports.set('docker', joined(transports.get('docker'), policies));
    transports.set('atomic', joined(transports.get('atomic'), shallowScopes(policies)));
    return [namespace, policyFileText({ ...policy, transports })];
  });
}

function joined(scopes: TransportScopes = new Map(), added: TransportScopes): TransportScopes {
  return new Map([...scopes, ...added]);
}

function refuseBothLists({ policyBlocked = [], allowed = [] }: PolicyLists, releaseImage: string) {
  if (allowed.length === 0 || policyBlocked.length === 0) return;
  const payload = payloadReference(releaseImage).name;
  if (allowed.length === 1 && allowed[0] === payload) return;
  throw refused(
    'invalid images config: only one of AllowedRegistries or BlockedRegistries may be specified',
  );
}

function refusePolicyScopes(
  kind: string,
  scopes: Iterable<string>,
  { policyBlocked = [], allowed = [] }: PolicyLists,
): void {
  const sorted = [...scopes].sort();
  const isInside = (scope: string, list: readonly string[]): boolean =>
    list.some((other) => isNestedScope(scope, other));
  const outside = sorted.find((scope) => allowed.length > 0 && !isInside(scope, allowed));
  if (outside !== undefined) {
    throw refused(
      `${kind} configured for the scope ${outside} is not nested inside allowedRegistries`,
    );
  }
  const inside = sorted.find((scope) => isInside(scope, policyBlocked));
  if (inside !== undefined) {
    throw refused(`${kind} configured for the scope ${inside} is nested inside blockedRegistries`);
  }
}

function refuseScopes({ policyBlocked = [], allowed = [] }: PolicyLists): void {
  const refusal = scopeRefusal('blocked', policyBlocked) ?? scopeRefusal('allowed', allowed);
  if (refusal !== undefined) throw refused(refusal);
}

/** The first entry with a wrong wildcard, in MCO's words. */
export function scopeRefusal(list: string, scopes: readonly string[]): string | undefined {
  const wrong = scopes.find((scope) => !isRegistryScope(scope));
  return wrong === undefined ? undefined : `invalid entry for ${list} registries ${goQuote(wrong)}`;
}

function refused(message: string): Error {
  return fail('InvalidMachineConfig', message);
}
