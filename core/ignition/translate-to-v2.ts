/**
 * From specification 3.1 (without newer features) to 2.2, for machines that boot from old images.
 *
 * @see MCO vendor/github.com/coreos/ign-converter/translate/v32tov22 (7ff337a4)
 */

import { fail } from '../errors';
import { listOf, structOf } from './rules';
import { without, wordOf, type IgnitionObject } from './schema';

/**
 * The config as 2.2, a JSON object with zero values.
 *
 * @throws InvalidIgnition for what 2.2 cannot express
 */
export function translateToV2(config: IgnitionObject): IgnitionObject {
  const storage = structOf(config['storage']);
  refuseLosses(structOf(config['ignition']), storage);
  const mounts = listOf(storage['filesystems'])
    .map((filesystem) => wordOf(filesystem['path']))
    .filter((path) => path !== '');
  const node = (value: IgnitionObject): IgnitionObject => translateNode(value, mounts);
  return {
    ignition: translateIgnition(structOf(config['ignition'])),
    passwd: structOf(config['passwd']),
    storage: {
      directories: listOf(storage['directories']).map((directory) => ({
        ...node(directory),
        mode: directory['mode'],
      })),
      disks: listOf(storage['disks']),
      files: listOf(storage['files']).flatMap((file) => translateFile(file, node(file))),
      filesystems: translateFilesystems(listOf(storage['filesystems'])),
      links: listOf(storage['links']).map((link) => ({
        ...node(link),
        hard: link['hard'],
        target: link['target'],
      })),
      raid: listOf(storage['raid']),
    },
    systemd: structOf(config['systemd']),
  };
}

function refuseLosses(ignition: IgnitionObject, storage: IgnitionObject): void {
  const config = structOf(ignition['config']);
  const tls = structOf(structOf(ignition['security'])['tls']);
  const references = [
    ...listOf(config['merge']),
    structOf(config['replace']),
    ...listOf(tls['certificateAuthorities']),
  ];
  const files = listOf(storage['files']).flatMap((file) => [
    structOf(file['contents']),
    ...listOf(file['append']),
  ]);
  const partitions = listOf(storage['disks']).flatMap((disk) => listOf(disk['partitions']));
  const inMebibytes = ['sizeMiB', 'startMiB'];
  const losses: readonly (readonly [boolean, string])[] = [
    [
      references.some((reference) => wordOf(reference['compression']) !== ''),
      'compressed references',
    ],
    [[...references, ...files].some(hasHeaders), 'HTTP headers'],
    [Object.keys(structOf(ignition['proxy'])).length > 0, 'ignition.proxy'],
    [
      partitions.some((partition) => inMebibytes.some((key) => partition[key] !== undefined)),
      'partitions in mebibytes',
    ],
    [
      partitions.some((one) => one['shouldExist'] === false || one['wipePartitionEntry'] === true),
      'partitions that go or replace others',
    ],
    [
      listOf(storage['filesystems']).some((entry) => listOf(entry['mountOptions']).length > 0),
      'mount options of filesystems',
    ],
  ];
  const loss = losses.find(([present]) => present);
  if (loss === undefined) return;
  throw fail('InvalidIgnition', `cannot convert the config to Ignition 2.2: it has no ${loss[1]}`);
}

function hasHeaders(resource: IgnitionObject): boolean {
  return listOf(resource['httpHeaders']).length > 0;
}

function translateIgnition(ignition: IgnitionObject): IgnitionObject {
  const config = structOf(ignition['config']);
  const replace = structOf(config['replace']);
  return {
    config: {
      append: listOf(config['merge']),
      ...(replace['source'] === undefined ? {} : { replace }),
    },
    security: structOf(ignition['security']),
    timeouts: structOf(ignition['timeouts']),
    version: '2.2.0',
  };
}

/** The filesystem of a path is that of the longest mount point above it. */
function translateNode(node: IgnitionObject, mounts: readonly string[]): IgnitionObject {
  const path = wordOf(node['path']);
  const mount = mounts
    .filter((candidate) => path.startsWith(candidate))
    .reduce((longest, candidate) => (candidate.length > longest.length ? candidate : longest), '');
  return {
    filesystem: mount === '' ? 'root' : mount,
    path: path.slice(mount.length),
    overwrite: node['overwrite'],
    ...ownerOf(node, 'user'),
    ...ownerOf(node, 'group'),
  };
}

function ownerOf(node: IgnitionObject, key: 'user' | 'group'): IgnitionObject {
  const owner = structOf(node[key]);
  return Object.keys(owner).length === 0 ? {} : { [key]: owner };
}

/**
 * One entry for the contents and one per appended part; files of 3.x do not overwrite by default. A
 * file with neither becomes an empty append, which creates it if missing. MCO leaves it out.
 */
function translateFile(file: IgnitionObject, node: IgnitionObject): readonly IgnitionObject[] {
  const own = { ...node, overwrite: node['overwrite'] ?? false, mode: file['mode'] };
  const contents = structOf(file['contents']);
  const appended = listOf(file['append']);
  if (contents['source'] === undefined && appended.length === 0) {
    // With `overwrite: false` the entry would fail for an existing file.
    return [{ ...without(own, 'overwrite'), append: true }];
  }
  const whole = contents['source'] === undefined ? [] : [{ ...own, contents }];
  const parts = appended.map((part) => ({
    ...own,
    overwrite: false,
    append: true,
    contents: part,
  }));
  return [...whole, ...parts];
}

/** Named by their path, or by a number without one. */
function translateFilesystems(filesystems: readonly IgnitionObject[]): readonly IgnitionObject[] {
  const nameless = filesystems.filter((filesystem) => wordOf(filesystem['path']) === '');
  return filesystems.map((filesystem) => {
    const path = wordOf(filesystem['path']);
    const { device, format, wipeFilesystem, label, uuid, options } = filesystem;
    return {
      name: path === '' ? String(nameless.indexOf(filesystem) + 1) : path,
      mount: { device, format, wipeFilesystem, label, uuid, options },
    };
  });
}
