/**
 * Ignition's rules for structs of specification 2, about a whole struct or one of its fields.
 *
 * @see MCO vendor/github.com/coreos/ignition/config/v2_2/types (7ff337a4)
 */

import { dataUrlError } from '../encoding/data-url';
import { parseGoUrl, queryValues } from '../encoding/go-url';
import { listOf, structOf, textOf } from './rules';
import { FINDING } from './rules-text';
import {
  extension,
  filesystemLabelRule,
  guidRule,
  hashRule,
  modeRule,
  unitNameRule,
} from './rules-values';
import { wordOf, type IgnitionObject } from './schema';
import type { MinorV2 } from './schema-v2';
import { readUnitContents } from './unit-contents';

type KindV2 = 'error' | 'warning' | 'info' | 'deprecated';

export interface EntryV2 {
  readonly kind: KindV2;
  readonly message: string;
}

/**
 * Input of rules that depends on the version. `3` stands for 2.3, to which configs are translated.
 */
export interface ContextV2 {
  readonly minor: MinorV2 | 3;
}

type RuleV2 = (value: IgnitionObject, context: ContextV2) => readonly EntryV2[];

function error(message: string | undefined): readonly EntryV2[] {
  return message === undefined ? [] : [{ kind: 'error', message }];
}

function warning(message: string): readonly EntryV2[] {
  return [{ kind: 'warning', message }];
}

const quote = (value: unknown): string => JSON.stringify(wordOf(value));

function config(value: IgnitionObject): readonly EntryV2[] {
  const storage = structOf(value['storage']);
  const filesystems = listOf(storage['filesystems']);
  const known = new Set(['root', ...filesystems.map((entry) => wordOf(entry['name']))]);
  const entries: EntryV2[] = [];
  for (const [kind, list] of [
    ['File', 'files'],
    ['Link', 'links'],
    ['Directory', 'directories'],
  ] as const) {
    for (const node of listOf(storage[list])) {
      const name = wordOf(node['filesystem']);
      if (name === '' || known.has(name)) continue;
      entries.push(
        ...warning(
          `${kind} ${quote(node['path'])} references nonexistent filesystem ${quote(name)}. (This is ok if it is defined in a referenced config)`,
        ),
      );
    }
  }
  const seen = new Set(['root']);
  for (const entry of filesystems) {
    const name = wordOf(entry['name']);
    if (seen.has(name)) {
      entries.push(...warning(`Filesystem ${quote(name)} shadows exising filesystem definition`));
    }
    seen.add(name);
  }
  return entries;
}

function urlRuleV2(source: unknown, { minor }: ContextV2): string | undefined {
  const url = wordOf(source);
  if (url === '') return undefined;
  const parsed = parseGoUrl(url);
  if (parsed === undefined) return FINDING.URL;
  if (['http', 'https', 'oem'].includes(parsed.scheme)) return undefined;
  if (parsed.scheme === 'data') return dataUrlError(url);
  if (minor > 0 && parsed.scheme === 'tftp') return undefined;
  if (minor === 0 || parsed.scheme !== 's3') return FINDING.SCHEME;
  const [version] = queryValues(parsed.rawQuery, 'versionId');
  return version === '' ? FINDING.S3_VERSION : undefined;
}

function absolute(path: unknown): string | undefined {
  return wordOf(path).startsWith('/') ? undefined : FINDING.RELATIVE_PATH;
}

const source: RuleV2 = (value, context) => error(urlRuleV2(value['source'], context));

const mode: RuleV2 = (value, { minor }) => {
  const bits = value['mode'] as number | undefined;
  const entries = error(modeRule(bits));
  if (bits !== undefined || minor < 2) return entries;
  return [...entries, ...warning('permissions unset, defaulting to 0000')];
};

const owner: RuleV2 = (value) =>
  error(value['id'] !== undefined && value['name'] !== undefined ? FINDING.ID_AND_NAME : undefined);

const node: Readonly<Record<string, RuleV2>> = {
  filesystem: (value) =>
    error(value['filesystem'] === undefined ? 'no filesystem specified' : undefined),
  path: (value) => error(absolute(value['path'])),
  mode,
};

function user(value: IgnitionObject): readonly EntryV2[] {
  if (value['create'] === undefined) return [];
  const set = [
    'gecos',
    'groups',
    'homeDir',
    'noCreateHome',
    'noLogInit',
    'noUserGroup',
    'primaryGroup',
    'shell',
    'system',
    'uid',
  ].filter((name) => value[name] !== undefined && listOf(value[name]).length !== 0);
  return [
    ...warning('the create object has been deprecated in favor of user-level options'),
    ...set.flatMap((name) =>
      error(`cannot use both the create object and the user-level ${name} field`),
    ),
  ];
}

function filesystem(value: IgnitionObject): readonly EntryV2[] {
  const mount = value['mount'] as IgnitionObject | undefined;
  if (mount === undefined) {
    return error(value['path'] === undefined ? 'filesystem is missing mount or path' : undefined);
  }
  const entries = [
    ...error(
      value['path'] === undefined ? undefined : 'filesystem has both mount and path defined',
    ),
  ];
  if (mount['create'] === undefined) return entries;
  if (mount['wipeFilesystem'] === true) {
    entries.push(...error('cannot use both create object and wipeFilesystem field'));
  }
  if (listOf(mount['options']).length > 0) {
    entries.push(...error('cannot use both create object and mount-level options field'));
  }
  const advice = 'the create object has been deprecated in favor of mount-level options';
  return [...entries, ...warning(advice)];
}

function partitions(value: IgnitionObject): readonly EntryV2[] {
  const list = listOf(value['partitions']).map((entry) => ({
    number: (entry['number'] as number | undefined) ?? 0,
    start: (entry['start'] as number | undefined) ?? 0,
    size: (entry['size'] as number | undefined) ?? 0,
  }));
  const numbers = list.map(({ number }) => number).filter((number) => number !== 0);
  return [
    ...error(new Set(numbers).size < numbers.length ? FINDING.PARTITION_NUMBERS : undefined),
    ...error(overlapping(list) ? FINDING.PARTITIONS_OVERLAP : undefined),
    ...error(list.some(({ start }) => start % 2048 !== 0) ? 'partitions misaligned' : undefined),
  ];
}

function overlapping(list: readonly { readonly start: number; readonly size: number }[]): boolean {
  const end = (p: (typeof list)[number]): number => (p.size === 0 ? p.start : p.start + p.size - 1);
  return list.some((p, i) =>
    list.some((o, j) => {
      if (i === j || p.start === 0 || o.start === 0) return false;
      const holds = (at: number): boolean => at >= o.start && at <= end(o);
      return holds(p.start) || holds(end(p)) || (p.start < o.start && end(p) > end(o));
    }),
  );
}

function level(value: IgnitionObject): readonly EntryV2[] {
  const name = wordOf(value['level']);
  if (['linear', 'raid0', '0', 'stripe'].includes(name)) {
    const spares = value['spares'] !== undefined;
    return error(spares ? 'spares unsupported for arrays with a level greater than 0' : undefined);
  }
  return error(/^(raid)?(1|4|5|6|10)$|^mirror$/.test(name) ? undefined : FINDING.RAID_LEVEL);
}

function contents(value: IgnitionObject): readonly EntryV2[] {
  const text = textOf(value['contents']);
  const read = readUnitContents(text, 'bytes');
  if (read.error !== undefined) return error(read.error);
  const on = value['enable'] === true || value['enabled'] === true;
  if (!on || text === undefined || read.sections.has('Install')) return [];
  return warning(
    `unit ${quote(value['name'])} is enabled, but has no install section so enable does nothing`,
  );
}

function unitFile(names: readonly string[], message: string): RuleV2 {
  return (value) => [
    ...error(readUnitContents(textOf(value['contents']), 'bytes').error),
    ...error(names.includes(extension(wordOf(value['name']))) ? undefined : message),
  ];
}

/** A partition of 2.3 with sizes in sectors, as in every translated one. */
const deprecated =
  (message: string): RuleV2 =>
  (_, { minor }) =>
    minor === 3 ? [{ kind: 'deprecated', message }] : [];

/** Rules about a whole struct, by its Go name. An error ends the visit of the struct. */
export const STRUCT_RULES_V2: Readonly<Record<string, RuleV2>> = {
  Config: config,
  File: (value) =>
    error(
      value['overwrite'] === true && value['append'] === true
        ? 'cannot set both append and overwrite to true'
        : undefined,
    ),
  Filesystem: filesystem,
  Mount: (value) => {
    const known = ['ext4', 'btrfs', 'xfs', 'swap', 'vfat'];
    return error(known.includes(wordOf(value['format'])) ? undefined : FINDING.FORMAT);
  },
  NodeGroup: owner,
  NodeUser: owner,
  PasswdUser: user,
  SystemdDropin: unitFile(['.conf'], FINDING.DROPIN_NAME),
  Networkdunit: unitFile(['.link', '.netdev', '.network'], 'invalid networkd unit extension'),
  NetworkdDropin: unitFile(['.conf'], 'invalid networkd drop-in extension'),
  Verification: (value) => error(hashRule(textOf(value['hash']), 0)),
};

/** Rules about a field, by Go name of the struct and JSON name of the field. */
export const FIELD_RULES_V2: Readonly<Record<string, Readonly<Record<string, RuleV2>>>> = {
  CaReference: { source },
  ConfigReference: { source },
  FileContents: {
    source,
    compression: (value) => {
      const known = ['', 'gzip'].includes(wordOf(value['compression']));
      return error(known ? undefined : FINDING.COMPRESSION);
    },
  },
  File: node,
  Directory: node,
  Link: { filesystem: node['filesystem'] ?? mode, path: node['path'] ?? mode },
  Disk: {
    device: (value) =>
      error(value['device'] === undefined ? FINDING.DISK_DEVICE : absolute(value['device'])),
    partitions,
  },
  Partition: {
    guid: (value) => error(guidRule(textOf(value['guid']))),
    label: (value) => {
      const label = wordOf(value['label']);
      return [
        ...error(Buffer.byteLength(label) > 36 ? FINDING.PARTITION_LABEL_LENGTH : undefined),
        ...(label.includes(':') ? warning(FINDING.PARTITION_LABEL_COLON) : []),
      ];
    },
    size: deprecated('size is deprecated; use sizeMB instead'),
    start: deprecated('start is deprecated; use startMB instead'),
    typeGuid: (value) => error(guidRule(textOf(value['typeGuid']))),
  },
  Filesystem: {
    path: (value) => error(value['path'] === undefined ? undefined : absolute(value['path'])),
  },
  Mount: {
    device: (value) => error(absolute(value['device'])),
    label: (value) => {
      const format = textOf(value['format']);
      if (format === undefined) return [];
      return error(filesystemLabelRule(textOf(value['label']), format));
    },
  },
  Raid: {
    level,
    devices: (value) =>
      ((value['devices'] as readonly string[] | undefined) ?? []).flatMap((device) =>
        error(absolute(device)),
      ),
  },
  Unit: { contents, name: (value) => error(unitNameRule(wordOf(value['name']))) },
};
