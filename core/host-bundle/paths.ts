/** The paths of bundles. A host refuses every other one. */

export const BUNDLE_PATH = {
  KUBELET_AUTHORITY: '/etc/kubernetes/kubelet-ca.crt',
  CLOUD_AUTHORITY: '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  PULL_SECRET: '/var/lib/kubelet/config.json',
  INTERNAL_PULL_SECRET: '/etc/mco/internal-registry-pull-secret.json',
} as const;

const FIXED: readonly string[] = Object.values(BUNDLE_PATH);
const REGISTRIES = '/etc/docker/certs.d';
const HOST = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(:[0-9]{1,5})?$/;
const NAME_LIMIT = 253 + ':65535'.length;

/**
 * The file for the authorities of a registry; undefined = `file` names no registry.
 *
 * @param file - as in a ControllerConfig: `host`, or `host..port`
 * @see MCO pkg/daemon/certificate_writer.go (7ff337a4), syncControllerConfigHandler
 */
export function registryPath(file: string): string | undefined {
  const registry = file.replaceAll('..', ':');
  return registry.length <= NAME_LIMIT && HOST.test(registry)
    ? `${REGISTRIES}/${registry}/ca.crt`
    : undefined;
}

export function isBundlePath(path: string): boolean {
  return FIXED.includes(path) || isRegistryPath(path);
}

/** A bundle without it means that hosts remove what an earlier bundle brought. */
export function isRegistryPath(path: string): boolean {
  const [, registry] = /^\/etc\/docker\/certs\.d\/([^/]+)\/ca\.crt$/.exec(path) ?? [];
  return registry !== undefined && registryPath(registry) === path;
}
