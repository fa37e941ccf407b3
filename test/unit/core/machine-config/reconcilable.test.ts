import {
  ineffectiveChange,
  irreconcilableReason,
  refuseIneffectiveChange,
  refuseUnreconcilable,
} from '../../../../core/machine-config';
import { nodePorts } from '../../../conformance/render-ports';
import { files, ignition, machineConfig } from './builders';

const options = { ports: nodePorts };
const reason = (old: object, next: object, more: object = {}): string | undefined =>
  irreconcilableReason(
    machineConfig('old', { config: old }),
    machineConfig('new', { config: next }),
    {
      ...options,
      ...more,
    },
  );
const users = (...list: readonly object[]): object => ignition({ passwd: { users: list } });
const storage = (sections: object): object => ignition({ storage: sections });
const withTarget = (path: string): object => ({ path, target: '/etc/x' });

const EMPTY = ignition();
const DISKS = storage({ disks: [{ device: '/dev/sda' }] });
const FILESYSTEMS = storage({ filesystems: [{ device: '/dev/sda', format: 'xfs' }] });
const RAID = storage({ raid: [{ name: 'r', level: 'raid1', devices: ['/dev/a'] }] });

describe('what a running machine can take', () => {
  test.each([
    ['nothing', EMPTY, EMPTY],
    ['files', EMPTY, files({ path: '/etc/a', contents: { source: 'data:,' } })],
    ['units', EMPTY, ignition({ systemd: { units: [{ name: 'a.service' }] } })],
    [
      'keys of core',
      users({ name: 'core', sshAuthorizedKeys: ['a'] }),
      users({ name: 'core', sshAuthorizedKeys: ['b'] }),
    ],
    ['the password of core', EMPTY, users({ name: 'core', passwordHash: 'x' })],
    ['core removed', users({ name: 'core', sshAuthorizedKeys: ['a'] }), EMPTY],
    ['all links removed', storage({ links: [withTarget('/etc/l')] }), EMPTY],
    ['the same disks', DISKS, DISKS],
  ])('%s', (_, old, next) => {
    expect(reason(old, next)).toBeUndefined();
  });
});

describe('what it cannot', () => {
  test.each([
    [
      'groups',
      EMPTY,
      ignition({ passwd: { groups: [{ name: 'g' }] } }),
      'ignition Passwd Groups section contains changes',
    ],
    ['another user', EMPTY, users({ name: 'bob' }), 'non-core user'],
    [
      'the shell of core',
      EMPTY,
      users({ name: 'core', passwordHash: 'x', shell: '/bin/sh' }),
      'SSH keys and password hash are not reconcilable',
    ],
    [
      'core without keys',
      EMPTY,
      users({ name: 'core' }),
      'user must be core and have 1 or more sshKeys',
    ],
    [
      'kernel arguments of Ignition',
      EMPTY,
      ignition({ kernelArguments: { shouldExist: ['a'] } }),
      'ignition kargs section contains changes',
    ],
    ['disks', EMPTY, DISKS, 'ignition disks section contains changes'],
    ['filesystems', EMPTY, FILESYSTEMS, 'ignition filesystems section contains changes'],
    ['RAID', EMPTY, RAID, 'ignition raid section contains changes'],
    [
      'directories',
      EMPTY,
      storage({ directories: [{ path: '/etc/d' }] }),
      'ignition directories section contains changes',
    ],
    [
      'directories removed',
      storage({ directories: [{ path: '/etc/d' }] }),
      EMPTY,
      'ignition directories section contains changes',
    ],
    [
      'a link added',
      EMPTY,
      storage({ links: [withTarget('/etc/l')] }),
      'ignition links section contains changes',
    ],
    [
      'a file that appends',
      EMPTY,
      files({ path: '/etc/a', append: [{ source: 'data:,' }] }),
      'ignition file /etc/a includes append',
    ],
    [
      'the force file',
      EMPTY,
      files({ path: '/run/machine-config-daemon-force' }),
      'cannot create /run/machine-config-daemon-force via Ignition',
    ],
  ])('%s', (_, old, next, words) => {
    expect(reason(old, next)).toContain(
      `new machineconfig "old" is not reconcilable against "new": `,
    );
    expect(reason(old, next)).toContain(words);
  });

  test('the FIPS flag', () => {
    const next = machineConfig('new', { config: EMPTY, fips: true });
    expect(irreconcilableReason(machineConfig('old', { config: EMPTY }), next, options)).toContain(
      'FIPS',
    );
  });
});

test.each([
  ['Disks', DISKS],
  ['FileSystems', FILESYSTEMS],
  ['Raid', RAID],
])('an administrator may allow changes of %s', (override, next) => {
  expect(reason(EMPTY, next, { storageOverrides: [override] })).toBeUndefined();
  expect(reason(EMPTY, next, { storageOverrides: [] })).toBeDefined();
});

describe('a config that cannot be read', () => {
  test('the old one', () => {
    expect(reason({}, EMPTY)).toMatch(
      /^parsing old Ignition config from machineconfig "old" failed: failed to parse/,
    );
  });

  test('the new one', () => {
    expect(reason(EMPTY, {})).toMatch(
      /^parsing new Ignition config from machineconfig "new" failed: failed to parse/,
    );
  });
});

describe('the MachineConfig that is named', () => {
  const current = machineConfig('rendered-old', { config: EMPTY });
  const rendered = machineConfig('rendered-new', { config: DISKS });
  const innocent = machineConfig('10', { config: EMPTY });

  test('the MachineConfig that alone explains the refusal', () => {
    const sources = [innocent, machineConfig('50-disks', { config: DISKS })];
    expect(() => {
      refuseUnreconcilable(current, rendered, sources, options);
    }).toThrow(
      'reconciliation failed between current config "rendered-old" and base config "50-disks": ignition disks section contains changes',
    );
  });

  test('no single MachineConfig', () => {
    expect(() => {
      refuseUnreconcilable(current, rendered, [innocent], options);
    }).toThrow(/^render reconciliation error: new machineconfig .*; component errors: <nil>$/);
  });

  test('not one with a reason of its own that the whole does not have', () => {
    const other = machineConfig('50-groups', {
      config: ignition({ passwd: { groups: [{ name: 'g' }] } }),
    });
    expect(() => {
      refuseUnreconcilable(current, rendered, [other], options);
    }).toThrow(/^render reconciliation error: .*; component errors: .*Passwd Groups/);
  });

  test('nothing is thrown for what can be applied', () => {
    expect(() => {
      refuseUnreconcilable(current, innocent, [innocent], options);
    }).not.toThrow();
  });
});

describe('changes without effect, which MCO accepts', () => {
  const change = (old: object, next: object): string | undefined =>
    ineffectiveChange(
      machineConfig('old', { config: old }),
      machineConfig('new', { config: next }),
      nodePorts,
    );
  const LUKS = storage({ luks: [{ name: 'l', device: '/dev/a' }] });

  test.each([
    ['storage.luks', LUKS],
    ['ignition.proxy', { ignition: { version: '3.5.0', proxy: { httpProxy: 'http://p' } } }],
    ['ignition.timeouts', { ignition: { version: '3.5.0', timeouts: { httpTotal: 1 } } }],
    [
      'ignition.config',
      { ignition: { version: '3.5.0', config: { merge: [{ source: 'https://a/b' }] } } },
    ],
    [
      'ignition.security',
      {
        ignition: {
          version: '3.5.0',
          security: { tls: { certificateAuthorities: [{ source: 'data:,x' }] } },
        },
      },
    ],
  ])('%s', (section, next) => {
    expect(change(EMPTY, next)).toContain(`spec.config.${section} only takes effect at first boot`);
    expect(change(next, next)).toBeUndefined();
    expect(reason(EMPTY, next)).toBeUndefined();
  });

  test('every user is checked, not only the last', () => {
    const next = users(
      { name: 'core', shell: '/bin/sh', passwordHash: 'x' },
      { name: 'core2', passwordHash: 'y' },
    );
    expect(change(EMPTY, next)).toContain('only sshAuthorizedKeys and passwordHash');
  });

  test('are refused', () => {
    expect(() => {
      refuseIneffectiveChange(
        machineConfig('a', { config: EMPTY }),
        machineConfig('b', { config: LUKS }),
        nodePorts,
      );
    }).toThrow('storage.luks');
  });
});
