/** Extensions of the operating system: named groups of packages. */

import { fail } from '../errors';

/**
 * The packages of each extension.
 *
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), SupportedExtensions
 */
export const EXTENSIONS: Readonly<Record<string, readonly string[]>> = {
  'two-node-ha': ['pacemaker', 'pcs', 'fence-agents-all'],
  ipsec: ['NetworkManager-libreswan', 'libreswan', 'openvswitch3.5-ipsec'],
  usbguard: ['usbguard'],
  kerberos: ['krb5-workstation', 'libkadm5'],
  'kernel-devel': ['kernel-devel', 'kernel-headers'],
  'sandboxed-containers': ['kata-containers'],
  sysstat: ['sysstat'],
};

/** Names of a list that are not extensions, in order. */
export function unknownExtensions(names: readonly string[]): readonly string[] {
  return names.filter((name) => !Object.hasOwn(EXTENSIONS, name));
}

/** @throws InvalidMachineConfig with MCO's words, naming every unknown extension */
export function refuseUnknownExtensions(names: readonly string[]): void {
  const unknown = unknownExtensions(names);
  if (unknown.length === 0) return;
  throw fail('InvalidMachineConfig', `invalid extensions found: [${unknown.join(' ')}]`);
}
