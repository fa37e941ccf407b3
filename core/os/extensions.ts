/** Extensions of the operating system as packages to install and to uninstall. */

import { EXTENSIONS } from '../machine-config/extensions';

interface PackageChanges {
  readonly install: readonly string[];
  readonly uninstall: readonly string[];
}

/**
 * Package changes that make the requested extensions true on a host.
 *
 * Installs missing required packages; uninstalls only packages of extensions, never one that a
 * person installed. Unknown extension names are skipped: rendering refuses them.
 *
 * @param requestedPackages - packages layered on the booted deployment
 * @see MCO pkg/daemon/update.go, generateExtensionsArgs (7ff337a4)
 */
export function extensionPackageChanges(
  extensions: readonly string[],
  requestedPackages: readonly string[],
): PackageChanges {
  const required = new Set(extensions.flatMap((name) => packagesOf(name)));
  const managed = new Set(Object.values(EXTENSIONS).flat());
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
  return Object.hasOwn(EXTENSIONS, extension) ? (EXTENSIONS[extension] ?? []) : [];
}
