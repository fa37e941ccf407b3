import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  convertIgnitionTo,
  OUTPUT_VERSIONS,
  parseAndConvert,
  readRawIgnition,
  type IgnitionObject,
} from '../../../../core/ignition';
import { failureName } from '../../../../core/errors';
import { nodePorts } from '../../../conformance/render-ports';

const convert = (config: unknown): IgnitionObject =>
  parseAndConvert(readRawIgnition(config, nodePorts));
const config = (sections: object): IgnitionObject =>
  convert({ ignition: { version: '3.5.0' }, ...sections });

const USUAL = config({
  passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'], passwordHash: 'x' }] },
  storage: {
    files: [
      {
        path: '/etc/a',
        mode: 420,
        overwrite: true,
        user: { name: 'core' },
        contents: { source: 'data:,1' },
      },
      { path: '/etc/b', contents: { source: 'data:,2', compression: 'gzip' } },
    ],
    links: [{ path: '/etc/l', target: '/etc/a' }],
  },
  systemd: {
    units: [
      {
        name: 'a.service',
        enabled: true,
        mask: false,
        dropins: [{ name: 'b.conf', contents: '[A]\n' }],
      },
    ],
  },
});

describe('a usual config', () => {
  test.each(OUTPUT_VERSIONS)('can be given in %s, and read there', (version) => {
    const converted = convertIgnitionTo(USUAL, version);
    expect(converted).toHaveProperty('ignition.version', `${version}.0`);
    expect(convert(converted)).toMatchObject({ passwd: USUAL['passwd'] as object });
  });

  test.each(['3.1', '3.2', '3.3', '3.4', '3.5'] as const)(
    'comes back unchanged from %s',
    (version) => {
      expect(convert(convertIgnitionTo(USUAL, version))).toEqual(USUAL);
    },
  );

  test('in 2.2', () => {
    expect(convertIgnitionTo(USUAL, '2.2')).toEqual({
      ignition: { version: '2.2.0' },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['k'], passwordHash: 'x' }] },
      storage: {
        files: [
          {
            filesystem: 'root',
            path: '/etc/a',
            overwrite: true,
            user: { name: 'core' },
            contents: { source: 'data:,1' },
            mode: 420,
          },
          {
            filesystem: 'root',
            path: '/etc/b',
            overwrite: false,
            contents: { source: 'data:,2', compression: 'gzip' },
          },
        ],
        links: [{ filesystem: 'root', path: '/etc/l', target: '/etc/a' }],
      },
      systemd: {
        units: [
          { name: 'a.service', enabled: true, dropins: [{ name: 'b.conf', contents: '[A]\n' }] },
        ],
      },
    });
  });
});

test('appended parts become entries of their own in 2.2', () => {
  const append = [{ source: 'data:,1' }, { source: 'data:,2' }];
  expect(
    convertIgnitionTo(config({ storage: { files: [{ path: '/etc/a', append }] } }), '2.2'),
  ).toMatchObject({
    storage: {
      files: [
        { path: '/etc/a', append: true, overwrite: false, contents: { source: 'data:,1' } },
        { path: '/etc/a', append: true, overwrite: false, contents: { source: 'data:,2' } },
      ],
    },
  });
});

test('a file without contents is appended nothing in 2.2: there it comes to be and is never emptied', () => {
  const files = [
    { path: '/etc/a', mode: 0o600, overwrite: false, user: { name: 'core' } },
    { path: '/etc/b', append: [{ source: 'data:,1' }] },
  ];
  expect(convertIgnitionTo(config({ storage: { files } }), '2.2')).toEqual({
    ignition: { version: '2.2.0' },
    storage: {
      files: [
        { filesystem: 'root', path: '/etc/a', user: { name: 'core' }, append: true, mode: 0o600 },
        {
          filesystem: 'root',
          path: '/etc/b',
          overwrite: false,
          append: true,
          contents: { source: 'data:,1' },
        },
      ],
    },
  });
});

test('a file on a mounted filesystem names it in 2.2', () => {
  const storage = {
    filesystems: [{ device: '/dev/sdb', format: 'xfs', path: '/var/data' }],
    files: [{ path: '/var/data/a', contents: { source: 'data:,' } }],
  };
  expect(convertIgnitionTo(config({ storage }), '2.2')).toMatchObject({
    storage: {
      filesystems: [{ name: '/var/data', mount: { device: '/dev/sdb', format: 'xfs' } }],
      files: [{ filesystem: '/var/data', path: '/a' }],
    },
  });
});

test('filesystems without a path have numbers of their own in 2.2', () => {
  const filesystems = [
    { device: '/dev/sda', format: 'xfs', path: '/var' },
    { device: '/dev/sdb', format: 'swap' },
    { device: '/dev/sdc', format: 'ext4', path: '/srv' },
    { device: '/dev/sdd', format: 'swap' },
  ];
  expect(convertIgnitionTo(config({ storage: { filesystems } }), '2.2')).toMatchObject({
    storage: {
      filesystems: [{ name: '/var' }, { name: '1' }, { name: '/srv' }, { name: '2' }],
    },
  });
});

test.each(['2.2', '3.1'] as const)('what is so anyway needs no words in %s', (version) => {
  const storage = (partition: object): object => ({
    disks: [{ device: '/dev/a', partitions: [{ number: 1, label: 'data', ...partition }] }],
  });
  const usual = config({
    passwd: { groups: [{ name: 'g' }], users: [{ name: 'core' }] },
    storage: storage({}),
  });
  const explicit = config({
    kernelArguments: { shouldExist: [] },
    passwd: {
      groups: [{ name: 'g', shouldExist: true }],
      users: [{ name: 'core', shouldExist: true }],
    },
    storage: { ...storage({ resize: false }), luks: [] },
  });
  expect(convertIgnitionTo(explicit, version)).toEqual(convertIgnitionTo(usual, version));
});

test('a partition that stays anyway needs no words in 2.2', () => {
  const usual = { number: 1, label: 'data' };
  const explicit = { ...usual, shouldExist: true, wipePartitionEntry: false };
  const disks = (partition: object) => [{ device: '/dev/a', partitions: [partition] }];
  expect(convertIgnitionTo(config({ storage: { disks: disks(explicit) } }), '2.2')).toEqual(
    convertIgnitionTo(config({ storage: { disks: disks(usual) } }), '2.2'),
  );
});

describe('what an older version cannot say is refused', () => {
  const luks = (more: object): object => ({
    storage: { luks: [{ name: 'l', device: '/dev/a', ...more }] },
  });
  const file = (more: object): object => ({
    storage: { files: [{ path: '/etc/a', contents: { source: 'data:,' }, ...more }] },
  });

  test.each([
    ['3.4', luks({ cex: { enabled: true } }), 'storage.luks.cex needs 3.5'],
    ['3.3', luks({ discard: true }), 'storage.luks.discard needs 3.4'],
    ['3.3', luks({ openOptions: ['x'] }), 'storage.luks.openOptions needs 3.4'],
    ['3.3', file({ mode: 0o1777 }), 'special mode bits needs 3.4'],
    [
      '3.3',
      file({ contents: { source: 'arn:aws:s3:::b/k' } }),
      'a source with the scheme arn needs 3.4',
    ],
    ['3.2', { kernelArguments: { shouldExist: ['a'] } }, 'kernelArguments needs 3.3'],
    ['2.2', { kernelArguments: { shouldExist: ['a'] } }, 'kernelArguments needs 3.3'],
    ['3.1', luks({}), 'storage.luks needs 3.2'],
    [
      '3.1',
      { passwd: { users: [{ name: 'a', shouldExist: false }] } },
      'shouldExist of a user or group needs 3.2',
    ],
    ['3.1', file({ contents: { source: 'gs://b/k' } }), 'invalid url scheme'],
    [
      '2.2',
      { ignition: { version: '3.5.0', proxy: { httpProxy: 'http://p' } } },
      'it has no ignition.proxy',
    ],
    [
      '2.2',
      file({ contents: { source: 'http://a', httpHeaders: [{ name: 'a', value: 'b' }] } }),
      'it has no HTTP headers',
    ],
    [
      '2.2',
      { storage: { disks: [{ device: '/dev/a', partitions: [{ number: 1, sizeMiB: 1 }] }] } },
      'it has no partitions in mebibytes',
    ],
    [
      '2.2',
      {
        storage: { disks: [{ device: '/dev/a', partitions: [{ number: 1, shouldExist: false }] }] },
      },
      'it has no partitions that go or replace others',
    ],
    [
      '2.2',
      {
        storage: {
          disks: [{ device: '/dev/a', partitions: [{ number: 1, wipePartitionEntry: true }] }],
        },
      },
      'it has no partitions that go or replace others',
    ],
  ] as const)('%s: %j', (version, sections, words) => {
    expect.assertions(2);
    try {
      convertIgnitionTo(config(sections), version);
    } catch (error) {
      expect(failureName(error)).toBe('InvalidIgnition');
      expect(error).toHaveProperty('message', expect.stringContaining(words));
    }
  });
});

describe('every observed result', () => {
  const FILE = join(__dirname, '../../../fixtures/render/ignition-merge.json');
  const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as {
    cases: readonly { readonly merged?: IgnitionObject }[];
  };
  const results = cases.flatMap(({ merged }) => (merged === undefined ? [] : [merged]));

  test('either comes back whole or is refused', () => {
    let whole = 0;
    for (const merged of results) {
      let converted: IgnitionObject;
      let before: IgnitionObject;
      try {
        before = convert(merged);
        converted = convertIgnitionTo(before, '3.3');
      } catch (error) {
        expect(failureName(error)).toBe('InvalidIgnition');
        continue;
      }
      expect(convert(converted)).toEqual(before);
      whole++;
    }
    expect(whole).toBeGreaterThan(20);
  });
});
