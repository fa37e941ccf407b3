import {
  changedFiles,
  changedUnits,
  diffMachineConfigs,
  passwdChanges,
  type DiffableSpec,
  type MachineConfigDiff,
} from '../../../../core/machine-config/diff';
import type {
  IgnitionConfig,
  IgnitionFile,
  IgnitionUnit,
  IgnitionUser,
} from '../../../../core/machine-config/types';

function ignition(parts: {
  readonly files?: readonly IgnitionFile[];
  readonly units?: readonly IgnitionUnit[];
  readonly users?: readonly IgnitionUser[];
}): IgnitionConfig {
  return {
    ignition: { version: '3.5.0' },
    ...(parts.files === undefined ? {} : { storage: { files: parts.files } }),
    ...(parts.units === undefined ? {} : { systemd: { units: parts.units } }),
    ...(parts.users === undefined ? {} : { passwd: { users: parts.users } }),
  };
}

const empty = ignition({});

function flags(old: Partial<DiffableSpec>, desired: Partial<DiffableSpec>): readonly string[] {
  const diff = diffMachineConfigs({ config: empty, ...old }, { config: empty, ...desired });
  return Object.entries(diff).flatMap(([flag, differs]) => (differs === true ? [flag] : []));
}

const a = { path: '/a', contents: { source: 'data:,1' } };
const b = { path: '/b', contents: { source: 'data:,1' } };

describe('which sections differ', () => {
  it.each<
    [string, Partial<DiffableSpec>, Partial<DiffableSpec>, readonly (keyof MachineConfigDiff)[]]
  >([
    ['nothing', {}, {}, []],
    ['the image', { osImageURL: 'x' }, { osImageURL: 'y' }, ['osUpdate']],
    ['absent and empty image', {}, { osImageURL: '' }, []],
    ['kernel arguments', { kernelArguments: ['a'] }, { kernelArguments: ['b'] }, ['kargs']],
    ['their order', { kernelArguments: ['a', 'b'] }, { kernelArguments: ['b', 'a'] }, ['kargs']],
    ['absent and empty arguments', {}, { kernelArguments: [] }, []],
    ['fips', {}, { fips: true }, ['fips']],
    [
      'extensions, order included',
      { extensions: ['a', 'b'] },
      { extensions: ['b', 'a'] },
      ['extensions'],
    ],
    ['absent and empty extensions', { extensions: [] }, {}, []],
    ['kernel type', {}, { kernelType: '64k-pages' }, ['kernelType']],
    ['default and empty kernel type', { kernelType: '' }, { kernelType: 'default' }, []],
    [
      'files in another order',
      { config: ignition({ files: [a, b] }) },
      { config: ignition({ files: [b, a] }) },
      ['files'],
    ],
    ['no list and an empty list of files', {}, { config: ignition({ files: [] }) }, ['files']],
    ['units', {}, { config: ignition({ units: [{ name: 'a.service' }] }) }, ['units']],
    ['users', {}, { config: ignition({ users: [{ name: 'core' }] }) }, ['passwd']],
    [
      'fields in another order, and fields without content',
      {
        config: ignition({
          files: [{ path: '/a', contents: { source: 'data:,', verification: {} } }],
        }),
      },
      { config: ignition({ files: [{ contents: { source: 'data:,' }, user: {}, path: '/a' }] }) },
      [],
    ],
    [
      'an empty and an absent compression',
      {
        config: ignition({
          files: [{ path: '/a', contents: { source: 'data:,', compression: '' } }],
        }),
      },
      { config: ignition({ files: [{ path: '/a', contents: { source: 'data:,' } }] }) },
      ['files'],
    ],
    [
      'directories are not looked at',
      {},
      { config: { ...empty, storage: { directories: [{ path: '/d' }] } } },
      [],
    ],
  ])('%s', (_, old, desired, expected) => {
    expect(flags(old, desired)).toEqual(expected);
  });
});

describe('which files and units change', () => {
  it('names new, different and removed files, and no reordered ones', () => {
    const old = ignition({ files: [b, a, { path: '/gone' }, { path: '/also-gone' }] });
    const desired = ignition({ files: [a, { ...b, mode: 384 }, { path: '/new' }] });
    expect(changedFiles(old, desired)).toEqual({
      changed: ['/b', '/new'],
      removed: ['/also-gone', '/gone'],
    });
  });

  it('takes the later of two files with one path', () => {
    const old = ignition({ files: [{ ...a, mode: 1 }, a] });
    expect(changedFiles(old, ignition({ files: [a] }))).toEqual({ changed: [], removed: [] });
  });

  it('looks into drop-ins and enablement', () => {
    const old = ignition({
      units: [
        { name: 'same.service', enabled: true },
        { name: 'dropin.service', dropins: [{ name: '10.conf', contents: 'x' }] },
        { name: 'toggled.service', enabled: true },
        { name: 'gone.service' },
      ],
    });
    const desired = ignition({
      units: [
        { name: 'new.service' },
        { enabled: true, name: 'same.service' },
        { name: 'dropin.service', dropins: [{ name: '10.conf', contents: 'y' }] },
        { name: 'toggled.service', enabled: false },
      ],
    });
    expect(changedUnits(old, desired)).toEqual({
      added: ['new.service'],
      updated: ['dropin.service', 'toggled.service'],
      removed: ['gone.service'],
    });
  });
});

describe('what changes about users', () => {
  const core = (user: Partial<IgnitionUser>): IgnitionConfig =>
    ignition({ users: [{ name: 'core', ...user }] });

  it.each([
    ['keys', core({ sshAuthorizedKeys: ['a'] }), core({ sshAuthorizedKeys: ['b'] }), true, false],
    ['password', core({}), core({ passwordHash: '$6$' }), false, true],
    ['both gone', core({ sshAuthorizedKeys: ['a'], passwordHash: '$6$' }), empty, true, true],
    ['a user without either', empty, core({}), false, false],
  ])('%s', (_, old, desired, sshKeysChanged, passwordChanged) => {
    expect(passwdChanges(old, desired)).toEqual({ sshKeysChanged, passwordChanged });
  });
});
