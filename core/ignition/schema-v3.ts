/**
 * Ignition specification 3.0 to 3.5. The versions differ in a few fields, so one builder makes all
 * of them.
 *
 * @see MCO vendor/github.com/coreos/ignition/v2/config/v3_*\/types/schema.go (7ff337a4)
 */

import {
  embedded,
  flag,
  integer,
  many,
  nested,
  plainInteger,
  plainText,
  struct,
  text,
  texts,
  type FieldSchema,
  type IgnitionObject,
  type StructSchema,
  wordOf,
} from './schema';

export type Minor = 0 | 1 | 2 | 3 | 4 | 5;

/** The version that configs are translated to. */
export const CURRENT_MINOR: Minor = 5;

const cache = new Map<Minor, StructSchema>();

export function schemaV3(minor: Minor): StructSchema {
  let schema = cache.get(minor);
  if (schema === undefined) {
    schema = buildConfig(minor);
    cache.set(minor, schema);
  }
  return schema;
}

const byName = (value: IgnitionObject): string => wordOf(value['name']);
const bySource = (value: IgnitionObject): string => wordOf(value['source']);

/** Fields that exist from a version on. */
function since(minor: Minor, first: Minor, ...fields: FieldSchema[]): FieldSchema[] {
  return minor >= first ? fields : [];
}

interface Resources {
  readonly file: StructSchema;
  readonly config: StructSchema;
  readonly authority: StructSchema;
}

/** 3.0 had three kinds of references with fewer fields. */
function buildResources(minor: Minor): Resources {
  const verification = struct('Verification', [text('hash')]);
  const verified = nested('verification', verification);
  if (minor === 0) {
    return {
      file: struct('FileContents', [text('compression'), text('source'), verified], bySource),
      config: struct('ConfigReference', [{ ...text('source'), always: true }, verified], bySource),
      authority: struct('CaReference', [plainText('source'), verified], bySource),
    };
  }
  const header = struct('HTTPHeader', [plainText('name'), text('value')], byName);
  const headers = { ...many('httpHeaders', header), goType: 'types.HTTPHeaders' };
  const fields = [text('compression'), headers, text('source'), verified];
  const resource = struct('Resource', fields, bySource);
  return { file: resource, config: resource, authority: resource };
}

function buildConfig(minor: Minor): StructSchema {
  const resources = buildResources(minor);
  const kernelArguments = struct('KernelArguments', [
    texts('shouldExist', 'KernelArgument', 'KernelArgument'),
    texts('shouldNotExist', 'KernelArgument', 'KernelArgument'),
  ]);
  return struct('Config', [
    { ...nested('ignition', buildIgnition(minor, resources)), always: true },
    ...since(minor, 3, nested('kernelArguments', kernelArguments)),
    nested('passwd', buildPasswd(minor)),
    nested('storage', buildStorage(minor, resources)),
    nested('systemd', struct('Systemd', [many('units', buildUnit())])),
  ]);
}

function buildIgnition(minor: Minor, resources: Resources): StructSchema {
  const config = struct('IgnitionConfig', [
    many('merge', resources.config),
    nested('replace', resources.config),
  ]);
  const proxy = struct('Proxy', [
    text('httpProxy'),
    text('httpsProxy'),
    texts('noProxy', 'NoProxyItem'),
  ]);
  const tls = struct('TLS', [many('certificateAuthorities', resources.authority)]);
  const timeouts = struct('Timeouts', [integer('httpResponseHeaders'), integer('httpTotal')]);
  return struct('Ignition', [
    nested('config', config),
    ...since(minor, 1, nested('proxy', proxy)),
    nested('security', struct('Security', [nested('tls', tls)])),
    nested('timeouts', timeouts),
    plainText('version'),
  ]);
}

function buildPasswd(minor: Minor): StructSchema {
  const group = struct(
    'PasswdGroup',
    [
      integer('gid'),
      plainText('name'),
      text('passwordHash'),
      ...since(minor, 2, flag('shouldExist')),
      flag('system'),
    ],
    byName,
  );
  const user = struct(
    'PasswdUser',
    [
      text('gecos'),
      texts('groups', 'Group'),
      text('homeDir'),
      plainText('name'),
      flag('noCreateHome'),
      flag('noLogInit'),
      flag('noUserGroup'),
      text('passwordHash'),
      text('primaryGroup'),
      texts('sshAuthorizedKeys', 'SSHAuthorizedKey'),
      text('shell'),
      ...since(minor, 2, flag('shouldExist')),
      flag('system'),
      integer('uid'),
    ],
    byName,
  );
  return struct('Passwd', [many('groups', group), many('users', user)]);
}

function buildUnit(): StructSchema {
  const dropin = struct('Dropin', [text('contents'), plainText('name')], byName);
  const fields = [
    text('contents'),
    many('dropins', dropin),
    flag('enabled'),
    flag('mask'),
    plainText('name'),
  ];
  return struct('Unit', fields, byName);
}

function buildStorage(minor: Minor, resources: Resources): StructSchema {
  const luks = buildLuks(minor, resources);
  const { directory, file, link } = buildNodes(minor, resources);
  return struct('Storage', [
    many('directories', directory, 'Node'),
    many('disks', buildDisk(minor)),
    many('files', file, 'Node'),
    many('filesystems', buildFilesystem(minor)),
    many('links', link, 'Node'),
    ...since(minor, 2, many('luks', luks)),
    many('raid', buildRaid(minor)),
  ]);
}

function buildNodes(
  minor: Minor,
  resources: Resources,
): Record<string, StructSchema> & {
  readonly directory: StructSchema;
  readonly file: StructSchema;
  readonly link: StructSchema;
} {
  const group = struct('NodeGroup', [integer('id'), text('name')]);
  const user = struct('NodeUser', [integer('id'), text('name')]);
  const node = embedded('Node', [
    nested('group', group),
    flag('overwrite'),
    plainText('path'),
    nested('user', user),
  ]);
  const byPath = (value: IgnitionObject): string => wordOf(value['path']);
  const target = minor >= 3 ? text('target') : plainText('target');
  const contents = [
    many('append', resources.file, null),
    nested('contents', resources.file),
    integer('mode'),
  ];
  return {
    directory: struct(
      'Directory',
      [...node, ...embedded('DirectoryEmbedded1', [integer('mode')])],
      byPath,
    ),
    file: struct('File', [...node, ...embedded('FileEmbedded1', contents)], byPath),
    link: struct('Link', [...node, ...embedded('LinkEmbedded1', [flag('hard'), target])], byPath),
  };
}

function buildDisk(minor: Minor): StructSchema {
  const partition = struct(
    'Partition',
    [
      text('guid'),
      text('label'),
      plainInteger('number'),
      ...since(minor, 2, flag('resize')),
      flag('shouldExist'),
      integer('sizeMiB'),
      integer('startMiB'),
      text('typeGuid'),
      flag('wipePartitionEntry'),
    ],
    (value) => {
      const { number, label } = value as { readonly number?: number; readonly label?: string };
      if (number !== undefined) return `number:${number}`;
      return label === undefined ? '' : `label:${label}`;
    },
  );
  const fields = [plainText('device'), many('partitions', partition), flag('wipeTable')];
  return struct('Disk', fields, (value) => wordOf(value['device']));
}

function buildFilesystem(minor: Minor): StructSchema {
  const fields = [
    plainText('device'),
    text('format'),
    text('label'),
    ...since(minor, 1, texts('mountOptions', 'MountOption', null)),
    texts('options', 'FilesystemOption', null),
    text('path'),
    text('uuid'),
    flag('wipeFilesystem'),
  ];
  return struct('Filesystem', fields, (value) => wordOf(value['device']));
}

function buildRaid(minor: Minor): StructSchema {
  const level = minor >= 3 ? text('level') : plainText('level');
  const devices = texts('devices', 'Device');
  const fields = [
    devices,
    level,
    plainText('name'),
    texts('options', 'RaidOption', null),
    integer('spares'),
  ];
  return struct('Raid', fields, byName);
}

function buildLuks(minor: Minor, resources: Resources): StructSchema {
  const custom =
    minor >= 3
      ? struct('ClevisCustom', [text('config'), flag('needsNetwork'), text('pin')])
      : struct('Custom', [plainText('config'), flag('needsNetwork'), plainText('pin')]);
  const tang = struct(
    'Tang',
    [...since(minor, 4, text('advertisement')), text('thumbprint'), plainText('url', true)],
    (value) => wordOf(value['url']),
  );
  const clevis = struct('Clevis', [
    nested('custom', custom, minor < 3),
    many('tang', tang),
    integer('threshold'),
    flag('tpm2'),
  ]);
  const fields = [
    ...since(minor, 5, nested('cex', struct('Cex', [flag('enabled')]))),
    nested('clevis', clevis, minor < 3),
    text('device'),
    ...since(minor, 4, flag('discard')),
    nested('keyFile', resources.file),
    text('label'),
    plainText('name'),
    ...since(minor, 4, texts('openOptions', 'OpenOption')),
    texts('options', 'LuksOption', null),
    text('uuid'),
    flag('wipeVolume'),
  ];
  return struct('Luks', fields, byName);
}
