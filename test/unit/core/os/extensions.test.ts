import { extensionPackageChanges, rpmOstreePackageArguments } from '../../../../core/os';

describe('the packages that extensions need', () => {
  it.each([
    ['nothing for nothing', [], [], { install: [], uninstall: [] }],
    [
      'all packages of an extension',
      ['kerberos'],
      [],
      { install: ['krb5-workstation', 'libkadm5'], uninstall: [] },
    ],
    [
      'only what is missing',
      ['two-node-ha'],
      ['pacemaker'],
      { install: ['fence-agents-all', 'pcs'], uninstall: [] },
    ],
    ['nothing twice', ['usbguard', 'usbguard'], [], { install: ['usbguard'], uninstall: [] }],
    [
      'what no extension needs any more',
      ['sysstat'],
      ['usbguard', 'sysstat'],
      { install: [], uninstall: ['usbguard'] },
    ],
    ['a package that a person installed stays', [], ['htop'], { install: [], uninstall: [] }],
    [
      'an unknown extension is passed over',
      ['teleport', 'constructor'],
      [],
      { install: [], uninstall: [] },
    ],
  ])('%s', (_, extensions, present, expected) => {
    expect(extensionPackageChanges(extensions, present)).toEqual(expected);
  });

  it('become arguments of rpm-ostree update, installs first', () => {
    const changes = extensionPackageChanges(['ipsec'], ['usbguard']);
    expect(rpmOstreePackageArguments(changes)).toEqual([
      '--install',
      'NetworkManager-libreswan',
      '--install',
      'libreswan',
      '--install',
      'openvswitch3.5-ipsec',
      '--uninstall',
      'usbguard',
    ]);
  });
});
