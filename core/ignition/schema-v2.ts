/**
 * Ignition specification 2.0 to 2.2. Nearly everything is a plain value with omitempty in Go.
 *
 * @see MCO vendor/github.com/coreos/ignition/config/v2_2/types/schema.go (7ff337a4)
 */

import {
  embedded,
  flag,
  integer,
  many,
  nested,
  plainFlag,
  plainInteger,
  plainText,
  struct,
  text,
  texts,
  type FieldSchema,
  type StructSchema,
} from './schema';

export type MinorV2 = 0 | 1 | 2;

const word = (name: string): FieldSchema => plainText(name, true);
const list = (name: string, schema: StructSchema): FieldSchema => many(name, schema, null);

/** Fields that exist from a version on. */
function since(minor: MinorV2, first: MinorV2, ...fields: FieldSchema[]): FieldSchema[] {
  return minor >= first ? fields : [];
}

const verified = nested('verification', struct('Verification', [text('hash')]));
const configReference = struct('ConfigReference', [word('source'), verified]);
const caReference = struct('CaReference', [word('source'), verified]);
const fileContents = struct('FileContents', [word('compression'), word('source'), verified]);
const security = struct('Security', [
  nested('tls', struct('TLS', [list('certificateAuthorities', caReference)])),
]);

const cache = new Map<MinorV2, StructSchema>();

export function schemaV2(minor: MinorV2): StructSchema {
  let schema = cache.get(minor);
  if (schema === undefined) {
    schema = buildConfig(minor);
    cache.set(minor, schema);
  }
  return schema;
}

function buildConfig(minor: MinorV2): StructSchema {
  return struct('Config', [
    { ...nested('ignition', buildIgnition(minor)), always: true },
    nested('networkd', struct('Networkd', [list('units', buildNetworkdUnit(minor))])),
    nested('passwd', buildPasswd(minor)),
    nested('storage', buildStorage(minor)),
    nested('systemd', struct('Systemd', [list('units', buildUnit(minor))])),
  ]);
}

function buildIgnition(minor: MinorV2): StructSchema {
  const config = struct('IgnitionConfig', [
    list('append', configReference),
    nested('replace', configReference, true),
  ]);
  const timeouts = struct('Timeouts', [integer('httpResponseHeaders'), integer('httpTotal')]);
  return struct('Ignition', [
    nested('config', config),
    ...since(minor, 2, nested('security', security)),
    ...since(minor, 1, nested('timeouts', timeouts)),
    word('version'),
  ]);
}

function buildNetworkdUnit(minor: MinorV2): StructSchema {
  const dropin = struct('NetworkdDropin', [word('contents'), word('name')]);
  const fields = [word('contents'), ...since(minor, 2, list('dropins', dropin)), word('name')];
  return struct('Networkdunit', fields);
}

function buildPasswd(minor: MinorV2): StructSchema {
  const details = [
    word('gecos'),
    texts('groups', 'Group', null),
    word('homeDir'),
    plainFlag('noCreateHome'),
    plainFlag('noLogInit'),
    plainFlag('noUserGroup'),
    word('primaryGroup'),
    word('shell'),
    plainFlag('system'),
    integer('uid'),
  ];
  const passwordHash = minor === 0 ? word('passwordHash') : text('passwordHash');
  const user = struct('PasswdUser', [
    nested('create', struct('Usercreate', details), true),
    ...since(minor, 1, ...details),
    word('name'),
    passwordHash,
    texts('sshAuthorizedKeys', 'SSHAuthorizedKey', null),
  ]);
  const group = struct('PasswdGroup', [
    integer('gid'),
    word('name'),
    word('passwordHash'),
    plainFlag('system'),
  ]);
  return struct('Passwd', [list('groups', group), list('users', user)]);
}

function buildStorage(minor: MinorV2): StructSchema {
  const owner = (name: 'NodeGroup' | 'NodeUser'): StructSchema =>
    struct(name, [integer('id'), ...since(minor, 1, word('name'))]);
  const node = embedded('Node', [
    word('filesystem'),
    nested('group', owner('NodeGroup'), true),
    ...since(minor, 2, flag('overwrite')),
    word('path'),
    nested('user', owner('NodeUser'), true),
  ]);
  const contents = [
    ...since(minor, 2, plainFlag('append')),
    nested('contents', fileContents),
    integer('mode'),
  ];
  const file = struct('File', [...node, ...embedded('FileEmbedded1', contents)]);
  const directory = struct('Directory', [
    ...node,
    ...embedded('DirectoryEmbedded1', [integer('mode')]),
  ]);
  const target = [plainFlag('hard'), word('target')];
  const link = struct('Link', [...node, ...embedded('LinkEmbedded1', target)]);
  return struct('Storage', [
    ...since(minor, 1, list('directories', directory)),
    list('disks', buildDisk(minor)),
    list('files', file),
    list('filesystems', buildFilesystem(minor)),
    ...since(minor, 1, list('links', link)),
    list('raid', buildRaid(minor)),
  ]);
}

function buildDisk(minor: MinorV2): StructSchema {
  const partition = struct('Partition', [
    ...since(minor, 1, word('guid')),
    word('label'),
    plainInteger('number'),
    plainInteger('size'),
    plainInteger('start'),
    word('typeGuid'),
  ]);
  return struct('Disk', [word('device'), list('partitions', partition), plainFlag('wipeTable')]);
}

function buildFilesystem(minor: MinorV2): StructSchema {
  const create = struct('Create', [plainFlag('force'), texts('options', 'CreateOption', null)]);
  const mount = struct('Mount', [
    nested('create', create, true),
    word('device'),
    word('format'),
    ...since(
      minor,
      1,
      text('label'),
      texts('options', 'MountOption', null),
      text('uuid'),
      plainFlag('wipeFilesystem'),
    ),
  ]);
  return struct('Filesystem', [nested('mount', mount, true), word('name'), text('path')]);
}

function buildRaid(minor: MinorV2): StructSchema {
  return struct('Raid', [
    texts('devices', 'Device', null),
    word('level'),
    word('name'),
    ...since(minor, 2, texts('options', 'RaidOption', null)),
    plainInteger('spares'),
  ]);
}

function buildUnit(minor: MinorV2): StructSchema {
  const dropin = struct('SystemdDropin', [word('contents'), word('name')]);
  return struct('Unit', [
    word('contents'),
    list('dropins', dropin),
    plainFlag('enable'),
    ...since(minor, 1, flag('enabled')),
    plainFlag('mask'),
    word('name'),
  ]);
}
