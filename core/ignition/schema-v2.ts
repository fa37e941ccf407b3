/**
 * Ignition specification 2.2, with the fields of 2.0 and 2.1 that it renamed. Everything here is a
 * plain value with omitempty in Go, except where marked.
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

const word = (name: string): FieldSchema => plainText(name, true);

const verification = struct('Verification', [text('hash')]);
const verified = nested('verification', verification);
const configReference = struct('ConfigReference', [word('source'), verified]);
const caReference = struct('CaReference', [word('source'), verified]);
const fileContents = struct('FileContents', [word('compression'), word('source'), verified]);

const ignition = struct('Ignition', [
  nested(
    'config',
    struct('IgnitionConfig', [
      many('append', configReference, null),
      nested('replace', configReference, true),
    ]),
  ),
  nested(
    'security',
    struct('Security', [
      nested('tls', struct('TLS', [many('certificateAuthorities', caReference, null)])),
    ]),
  ),
  nested('timeouts', struct('Timeouts', [integer('httpResponseHeaders'), integer('httpTotal')])),
  word('version'),
]);

const networkdDropin = struct('NetworkdDropin', [word('contents'), word('name')]);
const networkdUnit = struct('Networkdunit', [
  word('contents'),
  many('dropins', networkdDropin, null),
  word('name'),
]);

const userFields = [
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
const user = struct('PasswdUser', [
  nested('create', struct('Usercreate', userFields), true),
  ...userFields,
  word('name'),
  text('passwordHash'),
  texts('sshAuthorizedKeys', 'SSHAuthorizedKey', null),
]);
const group = struct('PasswdGroup', [
  integer('gid'),
  word('name'),
  word('passwordHash'),
  plainFlag('system'),
]);

const node = embedded('Node', [
  word('filesystem'),
  nested('group', struct('NodeGroup', [integer('id'), word('name')]), true),
  flag('overwrite'),
  word('path'),
  nested('user', struct('NodeUser', [integer('id'), word('name')]), true),
]);
const file = struct('File', [
  ...node,
  ...embedded('FileEmbedded1', [
    plainFlag('append'),
    nested('contents', fileContents),
    integer('mode'),
  ]),
]);
const directory = struct('Directory', [
  ...node,
  ...embedded('DirectoryEmbedded1', [integer('mode')]),
]);
const link = struct('Link', [
  ...node,
  ...embedded('LinkEmbedded1', [plainFlag('hard'), word('target')]),
]);

const partition = struct('Partition', [
  word('guid'),
  word('label'),
  plainInteger('number'),
  plainInteger('size'),
  plainInteger('start'),
  word('typeGuid'),
]);
const disk = struct('Disk', [
  word('device'),
  many('partitions', partition, null),
  plainFlag('wipeTable'),
]);
const mount = struct('Mount', [
  nested(
    'create',
    struct('Create', [plainFlag('force'), texts('options', 'CreateOption', null)]),
    true,
  ),
  word('device'),
  word('format'),
  text('label'),
  texts('options', 'MountOption', null),
  text('uuid'),
  plainFlag('wipeFilesystem'),
]);
const filesystem = struct('Filesystem', [nested('mount', mount, true), word('name'), text('path')]);
const raid = struct('Raid', [
  texts('devices', 'Device', null),
  word('level'),
  word('name'),
  texts('options', 'RaidOption', null),
  plainInteger('spares'),
]);

const dropin = struct('SystemdDropin', [word('contents'), word('name')]);
const unit = struct('Unit', [
  word('contents'),
  many('dropins', dropin, null),
  plainFlag('enable'),
  flag('enabled'),
  plainFlag('mask'),
  word('name'),
]);

export const SCHEMA_V2: StructSchema = struct('Config', [
  { ...nested('ignition', ignition), always: true },
  nested('networkd', struct('Networkd', [many('units', networkdUnit, null)])),
  nested('passwd', struct('Passwd', [many('groups', group, null), many('users', user, null)])),
  nested(
    'storage',
    struct('Storage', [
      many('directories', directory, null),
      many('disks', disk, null),
      many('files', file, null),
      many('filesystems', filesystem, null),
      many('links', link, null),
      many('raid', raid, null),
    ]),
  ),
  nested('systemd', struct('Systemd', [many('units', unit, null)])),
]);
