/** Extensions of the operating system: the names that a MachineConfig may use, and their packages. */

/**
 * Packages by extension name, as MCO supports them.
 *
 * @see MCO pkg/controller/common/helpers.go, SupportedExtensions (7ff337a4)
 */
export const EXTENSION_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  'two-node-ha': ['pacemaker', 'pcs', 'fence-agents-all'],
  ipsec: ['NetworkManager-libreswan', 'libreswan', 'openvswitch3.5-ipsec'],
  usbguard: ['usbguard'],
  kerberos: ['krb5-workstation', 'libkadm5'],
  'kernel-devel': ['kernel-devel', 'kernel-headers'],
  'sandboxed-containers': ['kata-containers'],
  sysstat: ['sysstat'],
};

/** What to install and to uninstall; each list sorted, without duplicates. */
export interface PackageChanges {
  readonly install: readonly string[];
  readonly uninstall: readonly string[];
}

/**
 * Package changes that make the requested extensions true on a host.
 *
 * Installs what is required and not there; uninstalls only packages that belong to some extension,
 * never a package that somebody installed by hand. Unknown extension names are passed over: they are
 * refused before, when the config is rendered.
 *
 * @param requestedPackages - packages layered on the booted deployment
 * @see MCO pkg/daemon/update.go, generateExtensionsArgs (7ff337a4)
 */
export function extensionPackageChanges(
  extensions: readonly string[],
  requestedPackages: readonly string[],
): PackageChanges {
  const required = new Set(extensions.flatMap((name) => packagesOf(name)));
  const managed = new Set(Object.values(EXTENSION_PACKAGES).flat());
  const present = new Set(requestedPackages);
  return {
    install: [...required].filter((name) => !present.has(name)).sort(),
    uninstall: [...present].filter((name) => managed.has(name) && !required.has(name)).sort(),
  };
}

/**
 * The arguments of `rpm-ostree update` for these changes; empty = nothing to run.
 *
 * @see MCO pkg/daemon/update.go, generateExtensionsArgs (7ff337a4)
 */
export function rpmOstreePackageArguments(changes: PackageChanges): readonly string[] {
  return [
    ...changes.install.flatMap((name) => ['--install', name]),
    ...changes.uninstall.flatMap((name) => ['--uninstall', name]),
  ];
}

function packagesOf(extension: string): readonly string[] {
  return Object.hasOwn(EXTENSION_PACKAGES, extension) ? (EXTENSION_PACKAGES[extension] ?? []) : [];
}
