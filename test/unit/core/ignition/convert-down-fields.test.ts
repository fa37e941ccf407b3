/** Every field of 3.5 in every served version: expressed there, or refused. */

import { failureName } from '../../../../core/errors';
import {
  convertIgnitionTo,
  encodeIgnition,
  parseAndConvert,
  readRawIgnition,
  structOf,
  type IgnitionObject,
  type OutputVersion,
} from '../../../../core/ignition';
import type { StructSchema } from '../../../../core/ignition/schema';
import { CURRENT_MINOR, schemaV3 } from '../../../../core/ignition/schema-v3';
import { nodePorts } from '../../../conformance/render-ports';

const convert = (config: unknown): IgnitionObject =>
  parseAndConvert(readRawIgnition(config, nodePorts));

const HASH = `sha512-${'a'.repeat(128)}`;
const GUID = '0FC63DAF-8483-4772-8E79-3D69D8477DE4';
const REFERENCES = [
  'ignition.config.merge',
  'ignition.config.replace',
  'ignition.security.tls.certificateAuthorities',
  'storage.files.contents',
  'storage.files.append',
];

/** One entry of everything that 2.2 knows. */
const BASE = {
  ignition: {
    version: '3.5.0',
    config: { merge: [{ source: 'http://a/m' }], replace: { source: 'http://a/r' } },
    security: { tls: { certificateAuthorities: [{ source: 'http://a/c' }] } },
  },
  passwd: { users: [{ name: 'core' }], groups: [{ name: 'wheel' }] },
  storage: {
    directories: [{ path: '/etc/d' }],
    disks: [{ device: '/dev/a', partitions: [{ number: 1 }] }],
    files: [
      { path: '/etc/a', contents: { source: 'http://a/f' }, append: [{ source: 'http://a/p' }] },
    ],
    filesystems: [{ device: '/dev/b', format: 'xfs' }],
    links: [{ path: '/etc/l', target: '/etc/a' }],
    raid: [{ name: 'r', level: 'raid1', devices: ['/dev/c'] }],
  },
  systemd: { units: [{ name: 'a.service', dropins: [{ name: 'b.conf' }] }] },
};
const WITH_LUKS = {
  ...BASE,
  storage: { ...BASE.storage, luks: [{ name: 'l', device: '/dev/e' }] },
};

/** The place of a value in 2.2, or the refusal there and in 3.x before `since`. */
type InVersion22 =
  { readonly at: string } | { readonly refused: string; readonly since: number | undefined };
type Row = readonly [field: string, value: unknown, in22: InVersion22];

const said = (field: string, ...values: readonly unknown[]): Row[] =>
  values.map((value) => saidAt(field, value, field));
const saidAt = (field: string, value: unknown, at: string): Row => [field, value, { at }];
/** @param since - the first minor of 3 with the field, when `words` does not name it; absent = every one */
const refused = (field: string, value: unknown, words: string, since?: number): Row => {
  const named = / needs 3\.(\d)$/.exec(words)?.[1];
  return [field, value, { refused: words, since: named === undefined ? since : Number(named) }];
};

/** Every field with values that have a meaning. */
const ROWS: readonly Row[] = [
  ...REFERENCES.flatMap((field) => {
    const isFile = field.startsWith('storage');
    const at = isFile ? 'storage.files.contents' : field.replace('merge', 'append');
    const compression = `${field}.compression`;
    return [
      saidAt(`${field}.source`, 'https://b/x', `${at}.source`),
      refused(`${field}.source`, 'arn:aws:s3:::b/k', 'a source with the scheme arn needs 3.4'),
      refused(`${field}.source`, 'gs://b/k', 'invalid url scheme', 2),
      saidAt(`${field}.verification.hash`, HASH, `${at}.verification.hash`),
      refused(
        `${field}.verification.hash`,
        `sha256-${'a'.repeat(64)}`,
        'unrecognized hash function',
      ),
      isFile
        ? saidAt(compression, 'gzip', `${at}.compression`)
        : refused(compression, 'gzip', 'it has no compressed references'),
      refused(`${field}.httpHeaders`, [{ name: 'a', value: 'b' }], 'it has no HTTP headers'),
    ];
  }),
  refused('ignition.proxy.httpProxy', 'http://p', 'it has no ignition.proxy'),
  refused('ignition.proxy.httpsProxy', 'https://p', 'it has no ignition.proxy'),
  refused('ignition.proxy.noProxy', ['a'], 'it has no ignition.proxy'),
  ...said('ignition.timeouts.httpResponseHeaders', 0, 3),
  ...said('ignition.timeouts.httpTotal', 0, 3),
  refused('kernelArguments.shouldExist', ['a'], 'kernelArguments needs 3.3'),
  refused('kernelArguments.shouldNotExist', ['a'], 'kernelArguments needs 3.3'),

  ...said('passwd.groups.gid', 0, 1000),
  ...said('passwd.groups.name', 'g'),
  ...said('passwd.groups.passwordHash', 'x'),
  refused('passwd.groups.shouldExist', false, 'shouldExist of a user or group needs 3.2'),
  ...said('passwd.groups.system', true),
  ...said('passwd.users.gecos', 'x'),
  ...said('passwd.users.groups', ['wheel']),
  ...said('passwd.users.homeDir', '/srv'),
  ...said('passwd.users.name', 'u'),
  ...said('passwd.users.noCreateHome', true),
  ...said('passwd.users.noLogInit', true),
  ...said('passwd.users.noUserGroup', true),
  ...said('passwd.users.passwordHash', 'x', ''),
  ...said('passwd.users.primaryGroup', 'wheel'),
  refused('passwd.users.shouldExist', false, 'shouldExist of a user or group needs 3.2'),
  ...said('passwd.users.sshAuthorizedKeys', ['k']),
  ...said('passwd.users.shell', '/bin/sh'),
  ...said('passwd.users.system', true),
  ...said('passwd.users.uid', 0, 1000),

  ...['directories', 'files', 'links'].flatMap((kind) => {
    const field = `storage.${kind}`;
    return [
      ...said(`${field}.group.id`, 0, 1),
      ...said(`${field}.group.name`, 'g'),
      ...said(`${field}.overwrite`, true, false),
      ...said(`${field}.path`, '/etc/x'),
      ...said(`${field}.user.id`, 0, 1),
      ...said(`${field}.user.name`, 'u'),
    ];
  }),
  ...['directories', 'files'].flatMap((kind) => [
    ...said(`storage.${kind}.mode`, 0, 0o600),
    refused(`storage.${kind}.mode`, 0o1777, 'special mode bits needs 3.4'),
  ]),
  ...said('storage.links.hard', true),
  ...said('storage.links.target', '/etc/b'),

  ...said('storage.disks.device', '/dev/x'),
  ...said('storage.disks.wipeTable', true),
  ...said('storage.disks.partitions.guid', GUID),
  ...said('storage.disks.partitions.label', 'x'),
  ...said('storage.disks.partitions.number', 2),
  refused('storage.disks.partitions.resize', true, 'resize of a partition needs 3.2'),
  refused('storage.disks.partitions.shouldExist', false, 'it has no partitions that go'),
  ...[0, 1].flatMap((mebibytes) => [
    refused('storage.disks.partitions.sizeMiB', mebibytes, 'it has no partitions in mebibytes'),
    refused('storage.disks.partitions.startMiB', mebibytes, 'it has no partitions in mebibytes'),
  ]),
  ...said('storage.disks.partitions.typeGuid', GUID),
  refused('storage.disks.partitions.wipePartitionEntry', true, 'it has no partitions that go'),

  saidAt('storage.filesystems.device', '/dev/x', 'storage.filesystems.mount.device'),
  saidAt('storage.filesystems.format', 'ext4', 'storage.filesystems.mount.format'),
  refused('storage.filesystems.format', 'none', 'the filesystem format none needs 3.3'),
  saidAt('storage.filesystems.label', 'x', 'storage.filesystems.mount.label'),
  refused('storage.filesystems.mountOptions', ['ro'], 'it has no mount options'),
  saidAt('storage.filesystems.options', ['-q'], 'storage.filesystems.mount.options'),
  saidAt('storage.filesystems.path', '/var/x', 'storage.filesystems.name'),
  saidAt('storage.filesystems.uuid', 'x', 'storage.filesystems.mount.uuid'),
  saidAt('storage.filesystems.wipeFilesystem', true, 'storage.filesystems.mount.wipeFilesystem'),

  ...(
    [
      ['cex.enabled', true, 5],
      ['clevis.custom', { pin: 'tang', config: '{}', needsNetwork: true }],
      ['clevis.tang', [{ url: 'http://t', thumbprint: 'x' }]],
      ['clevis.tang', [{ url: 'http://t', thumbprint: 'x', advertisement: '{}' }], 4],
      ['clevis.threshold', 1],
      ['clevis.tpm2', true],
      ['device', '/dev/x'],
      ['discard', true, 4],
      ['keyFile', { source: 'data:,k', compression: 'gzip', verification: { hash: HASH } }],
      ['keyFile', { source: 'http://a/k', httpHeaders: [{ name: 'a', value: 'b' }] }],
      ['label', 'x'],
      ['name', 'x'],
      ['openOptions', ['x'], 4],
      ['options', ['-q']],
      ['uuid', 'x'],
      ['wipeVolume', true],
    ] as const
  ).map(([name, value, since = 2]) => refused(`storage.luks.${name}`, value, 'needs 3.', since)),

  ...said('storage.raid.devices', ['/dev/x', '/dev/y']),
  ...said('storage.raid.level', 'raid5'),
  ...said('storage.raid.name', 'x'),
  ...said('storage.raid.options', ['-q']),
  ...said('storage.raid.spares', 1),

  ...said('systemd.units.contents', '[Unit]\n'),
  ...said('systemd.units.dropins.contents', '[Unit]\n'),
  ...said('systemd.units.dropins.name', 'x.conf'),
  ...said('systemd.units.enabled', true, false),
  // `mask: false`, which unmasks, has no effect in 2.2; MCO accepts it, too.
  ...said('systemd.units.mask', true),
  ...said('systemd.units.name', 'x.service'),
];

/** The base with the value in the field of the first entry. */
function withField(field: string, value: unknown): IgnitionObject {
  const base = field.startsWith('storage.luks') ? WITH_LUKS : BASE;
  return convert(placed(base, field.split('.'), value));
}

function placed(into: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(into)) {
    const [first, ...others] = into as readonly unknown[];
    return [placed(first, [name, ...rest], value), ...others];
  }
  const own = (into ?? {}) as IgnitionObject;
  return { ...own, [name]: placed(own[name], rest, value) };
}

/** All values at a path, through all entries of lists. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): readonly unknown[] {
  if (value === undefined) return [];
  if (name === undefined) return [value];
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, [name, ...rest]));
  return valuesAt((value as IgnitionObject)[name], rest);
}

function leaves(schema: StructSchema, prefix = ''): readonly string[] {
  return schema.fields.flatMap(({ name, struct }) =>
    struct === undefined ? [`${prefix}${name}`] : leaves(struct, `${prefix}${name}.`),
  );
}

/** The config in the version, or the failure. */
function outcome(config: IgnitionObject, version: OutputVersion): IgnitionObject | Error {
  try {
    return convertIgnitionTo(config, version);
  } catch (error) {
    return error as Error;
  }
}

function expectRefusal(found: IgnitionObject | Error, version: OutputVersion, words: string): void {
  expect(failureName(found)).toBe('InvalidIgnition');
  expect(found['message']).toContain(`cannot convert the config to Ignition ${version}: `);
  expect(found['message']).toContain(words);
}

test('the table has every field of 3.5', () => {
  const fields = ['ignition.version', ...ROWS.map(([field]) => field)];
  const missing = leaves(schemaV3(CURRENT_MINOR)).filter(
    (leaf) => !fields.some((field) => leaf === field || leaf.startsWith(`${field}.`)),
  );
  expect(missing).toEqual([]);
});

test.each(ROWS)('2.2 says or refuses %s: %j', (field, value, in22) => {
  const found = outcome(withField(field, value), '2.2');

  if ('refused' in in22) expectRefusal(found, '2.2', in22.refused);
  else expect(valuesAt(found, in22.at.split('.'))).toContainEqual(value);
});

describe.each([1, 2, 3, 4, 5] as const)('3.%d', (minor) => {
  test.each(ROWS)('says or refuses %s: %j', (field, value, in22) => {
    const config = withField(field, value);
    const whole = encodeIgnition(config);
    expect(valuesAt(whole, field.split('.'))).toContainEqual(value);

    const found = outcome(config, `3.${minor}`);

    const { refused: words = '', since = 0 } = 'refused' in in22 ? in22 : {};
    if (minor < since) expectRefusal(found, `3.${minor}`, words);
    else {
      const ignition = { ...structOf(whole['ignition']), version: `3.${minor}.0` };
      expect(found).toEqual({ ...whole, ignition });
    }
  });
});
