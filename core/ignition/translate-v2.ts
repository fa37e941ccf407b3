/**
 * From specification 2 to 3.5. Specification 3 forbids duplicates, so they are merged first.
 *
 * @see MCO pkg/controller/common/ign_helpers.go (7ff337a4), removeIgnDuplicateFilesUnitsUsers
 * @see MCO vendor/github.com/coreos/ign-converter/translate/v23tov30 (7ff337a4)
 */

import { cleanPath } from '../encoding/go-path';
import { fail } from '../errors';
import { formatReport, isFatal } from './report';
import { listOf, structOf } from './rules';
import { without, wordOf, type IgnitionObject } from './schema';
import { schemaV2 } from './schema-v2';
import { validateV3 } from './validate';
import { formatReportV2, validateV2 } from './validate-v2';

/**
 * One entry per file, unit and user. The last file of a path wins; the last unit of a name wins and
 * collects drop-ins of the others; the only user, `core`, collects the keys of all. Files and units
 * come out in reverse order.
 *
 * @throws InvalidIgnition for a user other than `core`
 */
export function withoutDuplicates(config: IgnitionObject): IgnitionObject {
  const storage = structOf(config['storage']);
  const systemd = structOf(config['systemd']);
  const passwd = structOf(config['passwd']);
  return {
    ...config,
    storage: { ...storage, files: lastByPath(listOf(storage['files'])) },
    systemd: { ...systemd, units: lastByName(listOf(systemd['units'])) },
    passwd: { ...passwd, users: onlyCore(listOf(passwd['users'])) },
  };
}

function lastByPath(files: readonly IgnitionObject[]): readonly IgnitionObject[] {
  const kept = new Map<unknown, IgnitionObject>();
  for (const file of files.toReversed()) {
    if (!kept.has(file['path'])) kept.set(file['path'], file);
  }
  return [...kept.values()];
}

function lastByName(units: readonly IgnitionObject[]): readonly IgnitionObject[] {
  const kept = new Map<unknown, IgnitionObject>();
  for (const unit of units.toReversed()) {
    const later = kept.get(unit['name']);
    kept.set(unit['name'], later === undefined ? unit : withDropins(later, unit));
  }
  return [...kept.values()];
}

function withDropins(unit: IgnitionObject, earlier: IgnitionObject): IgnitionObject {
  const dropins = [...listOf(unit['dropins'])];
  for (const dropin of listOf(earlier['dropins'])) {
    if (!dropins.some((own) => own['name'] === dropin['name'])) dropins.push(dropin);
  }
  return dropins.length === 0 ? unit : { ...unit, dropins };
}

function onlyCore(users: readonly IgnitionObject[]): readonly IgnitionObject[] {
  const [last] = users.toReversed();
  if (last === undefined) return [];
  const keys: unknown[] = [];
  for (const user of users.toReversed()) {
    if (user['name'] !== 'core') {
      const field = `spec.config.passwd.users[${users.indexOf(user)}].name`;
      const name = wordOf(user['name']);
      throw fail(
        'InvalidIgnition',
        `unexpected user with name: ${name}. Only core user is supported`,
        { field },
      );
    }
    keys.push(...((user['sshAuthorizedKeys'] as readonly unknown[] | undefined) ?? []));
  }
  return [{ ...last, sshAuthorizedKeys: [...new Set(keys)] }];
}

/**
 * The config in 3.5. The only known filesystem is `root`, at `/`.
 *
 * @throws InvalidIgnition for what specification 3 cannot express
 */
export function translateV2(config: IgnitionObject): IgnitionObject {
  refuseUntranslatable(config);
  const storage = structOf(config['storage']);
  const passwd = structOf(config['passwd']);
  const out = pruned({
    ignition: translateIgnition(structOf(config['ignition'])),
    passwd: {
      groups: list(passwd['groups']),
      users: listOf(passwd['users']).map(translateUser),
    },
    storage: {
      directories: listOf(storage['directories']).map((directory) => ({
        ...translateNode(directory),
        mode: directory['mode'],
      })),
      disks: list(storage['disks']),
      files: listOf(storage['files']).map(translateFile),
      links: listOf(storage['links']).map((link) => ({
        ...translateNode(link),
        hard: link['hard'],
        target: link['target'] ?? '',
      })),
      raid: listOf(storage['raid']).map((raid) => ({ level: '', name: '', ...raid })),
    },
    systemd: {
      units: listOf(structOf(config['systemd'])['units']).map(translateUnit),
    },
  });
  const findings = validateV3({ ...(out as IgnitionObject), ignition: { version: '3.0.0' } }, 0);
  if (isFatal(findings)) throw untranslatable(formatReport(findings));
  return out as IgnitionObject;
}

function untranslatable(why: string, field?: string): Error {
  return fail(
    'InvalidIgnition',
    `failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: ${why}`,
    field === undefined ? {} : { field },
  );
}

function list(value: unknown): readonly IgnitionObject[] {
  return listOf(value);
}

function translateIgnition(ignition: IgnitionObject): IgnitionObject {
  const config = structOf(ignition['config']);
  const tls = structOf(structOf(ignition['security'])['tls']);
  const reference = (value: IgnitionObject): IgnitionObject => ({
    source: value['source'] ?? '',
    verification: value['verification'],
  });
  const replace = config['replace'] as IgnitionObject | undefined;
  return {
    config: {
      merge: listOf(config['append']).map(reference),
      replace: replace === undefined ? undefined : reference(replace),
    },
    security: {
      tls: { certificateAuthorities: listOf(tls['certificateAuthorities']).map(reference) },
    },
    timeouts: ignition['timeouts'],
    version: '3.5.0',
  };
}

function translateUser(user: IgnitionObject): IgnitionObject {
  return { name: '', ...without(user, 'create') };
}

function translateUnit(unit: IgnitionObject): IgnitionObject {
  const { enable, enabled, ...rest } = unit;
  const on = enabled ?? enable;
  const dropins = listOf(unit['dropins']).map((dropin) => ({ name: '', ...dropin }));
  return { name: '', ...rest, dropins, enabled: on };
}

function translateNode(node: IgnitionObject): IgnitionObject {
  return {
    group: node['group'],
    overwrite: node['overwrite'],
    path: cleanPath(`/${wordOf(node['path'])}`),
    user: node['user'],
  };
}

/** Files of specification 2 overwrite by default; appending files never do. */
function translateFile(file: IgnitionObject): IgnitionObject {
  const contents = structOf(file['contents']);
  const resource = {
    compression: contents['compression'],
    source: contents['source'] ?? '',
    verification: contents['verification'],
  };
  const appends = file['append'] === true;
  const body = appends ? { append: [resource] } : { contents: resource };
  const overwrite = appends ? false : (file['overwrite'] ?? true);
  return { ...translateNode(file), overwrite, ...body, mode: file['mode'] };
}

/** The converter's first checks: deprecated fields, sections without a successor, clashes. */
function refuseUntranslatable(config: IgnitionObject): void {
  const entries = validateV2(config, schemaV2(2), { minor: 3 });
  if (entries.some(({ kind }) => kind === 'error' || kind === 'deprecated')) {
    throw untranslatable(`Invalid input config:\n${formatReportV2(entries)}`);
  }
  if (listOf(structOf(config['networkd'])['units']).length > 0) {
    throw untranslatable(
      'config includes deprecated networkd section - use Files instead',
      'spec.config.networkd',
    );
  }
  const storage = structOf(config['storage']);
  const clash =
    filesystemClash(listOf(storage['filesystems'])) ??
    conflictingInodes(storage) ??
    repeatedDropin(listOf(structOf(config['systemd'])['units']));
  if (clash !== undefined) throw untranslatable(clash);
}

function filesystemClash(filesystems: readonly IgnitionObject[]): string | undefined {
  for (const filesystem of filesystems) {
    const name = wordOf(filesystem['name']);
    if (name !== 'root') {
      const advice = 'Please specify a path to be used as the filesystem mountpoint.';
      return `Config defined filesystem ${JSON.stringify(name)} but no mapping was defined.${advice}`;
    }
    const create = structOf(filesystem['mount'])['create'] as IgnitionObject | undefined;
    if (create !== undefined && create['force'] !== true) {
      return 'Config must force filesystem creation in case `mount.create` object is defined.';
    }
  }
  return undefined;
}

function repeatedDropin(units: readonly IgnitionObject[]): string | undefined {
  for (const unit of units) {
    const seen = new Set<string>();
    for (const dropin of listOf(unit['dropins'])) {
      const name = wordOf(dropin['name']);
      if (seen.has(name)) {
        const [quoted, owner] = [name, wordOf(unit['name'])].map((text) => JSON.stringify(text));
        return `Config has duplicate dropin name ${quoted ?? ''} in unit ${owner ?? ''}.  All dropins must specify a unique \`name\`.`;
      }
      seen.add(name);
    }
  }
  return undefined;
}

/** A path of two entries, or one that runs through a link. */
function conflictingInodes(storage: IgnitionObject): string | undefined {
  const pathOf = (node: IgnitionObject): string => cleanPath(`/${wordOf(node['path'])}`);
  const links = listOf(storage['links']).map(pathOf);
  const seen = new Map<string, string>();
  const kinds = [
    ['File', 'files'],
    ['Directory', 'directories'],
    ['Link', 'links'],
  ] as const;
  for (const [kind, key] of kinds) {
    for (const node of listOf(storage[key])) {
      const path = pathOf(node);
      const name = `${kind}: ${path}`;
      const earlier = seen.get(path);
      if (earlier !== undefined) {
        return `Config has conflicting inodes: ${JSON.stringify(earlier)} and ${JSON.stringify(name)}.  All files, directories and links must specify a unique \`path\`.`;
      }
      // As in the converter, `/etc/a` counts as a link in the path of `/etc/ab`.
      const used = links.find((link) => path !== link && path.startsWith(link));
      if (used !== undefined) {
        return `${name} uses link defined in config ${JSON.stringify(used)}. Please use a link not defined in Storage:Links`;
      }
      seen.set(path, name);
    }
  }
  return undefined;
}

function pruned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pruned);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .map(([key, child]) => [key, pruned(child)] as const)
    .filter(([, child]) => child !== undefined && !isEmptyObject(child));
  return Object.fromEntries(entries);
}

function isEmptyObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
