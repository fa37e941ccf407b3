/** Disruption policies: the defaults, the user's policies, and the one that covers a path. */

import { POLICY_JSON, REGISTRIES_CONF } from '../containers-files';
import { cleanPath } from '../encoding/go-path';
import type {
  DisruptionAction,
  DisruptionPolicies,
  FilePolicy,
  NodeDisruptionPolicy,
  UnitPolicy,
} from './types';

const ANCHORS = '/etc/pki/ca-trust/source/anchors';
const KUBELET_DROPIN = '40-kubelet-crio-image-credential-provider.conf';

/**
 * The defaults; a path without a policy costs a reboot.
 *
 * @see MCO pkg/apihelpers/apihelpers.go, defaultClusterPolicies (7ff337a4)
 */
export const DEFAULT_DISRUPTION_POLICIES: DisruptionPolicies = {
  files: [
    { path: '/var/lib/kubelet/config.json', actions: [{ type: 'None' }] },
    {
      path: '/etc/machine-config-daemon/no-reboot/containers-gpg.pub',
      actions: [reload('crio.service')],
    },
    { path: POLICY_JSON, actions: [reload('crio.service')] },
    { path: REGISTRIES_CONF, actions: [{ type: 'Special' }] },
    { path: '/etc/containers/registries.d', actions: [reload('crio.service')] },
    { path: '/etc/crio/policies', actions: [reload('crio.service')] },
    // Slipway's own: containerd reads it at each pull.
    { path: '/etc/containerd/certs.d', actions: [{ type: 'None' }] },
    { path: '/etc/nmstate/openshift', actions: [{ type: 'None' }] },
    {
      path: `${ANCHORS}/openshift-config-user-ca-bundle.crt`,
      actions: [restart('coreos-update-ca-trust.service'), restart('crio.service')],
    },
    { path: '/etc/kubernetes/credential-providers', actions: [restart('kubelet.service')] },
    {
      path: `/etc/systemd/system/kubelet.service.d/${KUBELET_DROPIN}`,
      actions: [{ type: 'DaemonReload' }, restart('kubelet.service')],
    },
    { path: '/etc/iri-registry', actions: [restart('iri-registry.service')] },
    { path: '/usr/local/bin/load-registry-image.sh', actions: [restart('iri-registry.service')] },
    {
      path: `${ANCHORS}/iri-root-ca.crt`,
      actions: [restart('coreos-update-ca-trust.service')],
    },
  ],
  units: [
    {
      name: 'iri-registry.service',
      actions: [{ type: 'DaemonReload' }, restart('iri-registry.service')],
    },
  ],
  sshkey: { actions: [{ type: 'None' }] },
};

function reload(serviceName: string): DisruptionAction {
  return { type: 'Reload', reload: { serviceName } };
}

function restart(serviceName: string): DisruptionAction {
  return { type: 'Restart', restart: { serviceName } };
}

/**
 * Merges the user's policies into the defaults: the same path, unit name or SSH section replaces
 * the default, others are appended.
 *
 * @see MCO pkg/apihelpers/apihelpers.go, MergeClusterPolicies (7ff337a4)
 */
export function mergeDisruptionPolicies(user: NodeDisruptionPolicy = {}): DisruptionPolicies {
  const defaults = DEFAULT_DISRUPTION_POLICIES;
  const { sshkey } = user;
  return {
    files: override(defaults.files, user.files ?? [], (policy: FilePolicy) => policy.path),
    units: override(defaults.units, user.units ?? [], (policy: UnitPolicy) => policy.name),
    sshkey: sshkey === undefined || sshkey.actions.length === 0 ? defaults.sshkey : sshkey,
  };
}

function override<T>(
  defaults: readonly T[],
  own: readonly T[],
  key: (policy: T) => string,
): readonly T[] {
  const merged = [...defaults];
  for (const policy of own) {
    const replaced = defaults.findIndex((other) => key(other) === key(policy));
    if (replaced === -1) merged.push(policy);
    else merged[replaced] = policy;
  }
  return merged;
}

/**
 * The policy with the longest path that is the file's own or a directory above it. `/etc/my` covers
 * `/etc/my/file` and not `/etc/myfile`; `/` covers nothing.
 *
 * @see MCO pkg/controller/common/helpers.go, FindClosestFilePolicyPathMatch (7ff337a4)
 */
export function closestFilePolicy(
  path: string,
  policies: readonly FilePolicy[],
): FilePolicy | undefined {
  let closest: FilePolicy | undefined;
  for (const policy of policies) {
    const covers = policy.path === path || isBelow(policy.path, path);
    if (covers && policy.path.length > (closest?.path.length ?? 0)) closest = policy;
  }
  return closest;
}

function isBelow(directory: string, path: string): boolean {
  return cleanPath(path).startsWith(`${cleanPath(directory)}/`);
}
