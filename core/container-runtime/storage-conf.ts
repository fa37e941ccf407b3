/** `storage.conf`: the base file of the role, read into MCO's fields and written again. */

import { messageOf } from '../errors';
import {
  readToml,
  tomlEntry,
  tomlTable,
  toToml,
  type TomlFields,
  type TomlPort,
  type TomlTable,
} from '../toml';
import { pathsOf } from './drop-ins';
import type { ContainerRuntimeConfiguration, RuntimeGates } from './types';
import { quantityOf } from './validate';

export const STORAGE_CONF = '/etc/containers/storage.conf';

/** Whether the config changes `storage.conf`. */
export function changesStorage(
  config: ContainerRuntimeConfiguration,
  gates: RuntimeGates,
): boolean {
  const { additionalLayerStores = [], additionalImageStores = [] } = config;
  const size = quantityOf('overlaySize', config.overlaySize)?.value ?? 0n;
  const stores = additionalLayerStores.length + additionalImageStores.length;
  return size !== 0n || (gates.additionalStorage && stores > 0);
}

/**
 * The base file with the config's size and stores. Fields that MCO does not know are lost; three
 * numbers appear with the value 0 when the base has none.
 *
 * @param base - TOML
 * @throws Error in MCO's words when the base cannot be read
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4), updateStorageConfig
 * @see containers/storage pkg/config/config.go, OptionsConfig
 */
export function updateStorageConf(
  base: string,
  config: ContainerRuntimeConfiguration,
  { gates, port }: { readonly gates: RuntimeGates; readonly port: TomlPort },
): string {
  try {
    return readToml(base, port, (fields) =>
      toToml(storage(fields.table('storage'), config, gates)),
    );
  } catch (error) {
    throw new Error(`error decoding crio config: ${messageOf(error)}`, { cause: error });
  }
}

function storage(
  base: TomlFields,
  config: ContainerRuntimeConfiguration,
  gates: RuntimeGates,
): TomlTable {
  return tomlTable('storage', [
    ...tomlEntry('driver', base.text('driver') ?? ''),
    ...tomlEntry('runroot', base.text('runroot') ?? ''),
    ...tomlEntry('graphroot', base.text('graphroot') ?? ''),
    ...tomlTable('options', options(base.table('options'), config, gates)),
  ]);
}

function options(
  base: TomlFields,
  config: ContainerRuntimeConfiguration,
  gates: RuntimeGates,
): TomlTable {
  const chosen = chosenStores(config, gates);
  const size = quantityOf('overlaySize', config.overlaySize);
  return [
    ...texts('additionalimagestores', chosen.images ?? base.texts('additionalimagestores')),
    ...text(base, 'imagestore'),
    ...texts('additionallayerstores', chosen.layers ?? base.texts('additionallayerstores')),
    ...filled('size', size === undefined || size.value === 0n ? base.text('size') : size.text),
    ...['ignore_chown_errors', 'use_composefs'].flatMap((key) => text(base, key)),
    ...tomlEntry('force_mask', base.size('force_mask') ?? 0),
    ...text(base, 'root-auto-userns-user'),
    ...tomlEntry('auto-userns-min-size', base.size('auto-userns-min-size') ?? 0),
    ...tomlEntry('auto-userns-max-size', base.size('auto-userns-max-size') ?? 0),
    ...['skip_mount_home', 'mount_program', 'mountopt'].flatMap((key) => text(base, key)),
    ...tomlEntry('disable-volatile', base.flag('disable-volatile') === true ? true : undefined),
    ...DRIVERS.flatMap(([driver, keys]) => {
      const fields = base.table(driver);
      return filledTable(
        driver,
        keys.flatMap((key) => text(fields, key)),
      );
    }),
    ...filledTable('pull_options', pullOptions(base)),
  ];
}

/** Tables of drivers, with their keys in the order of writing. */
const DRIVERS: readonly (readonly [string, readonly string[]])[] = [
  ['btrfs', ['min_space', 'size']],
  [
    'overlay',
    [
      ...['ignore_chown_errors', 'mountopt', 'mount_program', 'size', 'inodes'],
      ...['skip_mount_home', 'use_composefs', 'force_mask', 'sync'],
    ],
  ],
  ['vfs', ['ignore_chown_errors', 'sync']],
  ['zfs', ['mountopt', 'fsname', 'size']],
];

function chosenStores(config: ContainerRuntimeConfiguration, gates: RuntimeGates) {
  if (!gates.additionalStorage) return {};
  const layers = pathsOf(config.additionalLayerStores).map((path) => `${path}:ref`);
  const images = pathsOf(config.additionalImageStores);
  return {
    ...(layers.length === 0 ? {} : { layers }),
    ...(images.length === 0 ? {} : { images }),
  };
}

function pullOptions(base: TomlFields): TomlTable {
  const entries = [...(base.textTable('pull_options') ?? new Map<string, string>())];
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => ({ key, value }));
}

function text(base: TomlFields, key: string): TomlTable {
  return filled(key, base.text(key));
}

function filled(key: string, value: string | undefined): TomlTable {
  return tomlEntry(key, value === '' ? undefined : value);
}

function texts(key: string, values: readonly string[] = []): TomlTable {
  return tomlEntry(key, values.length === 0 ? undefined : values);
}

function filledTable(key: string, table: TomlTable): TomlTable {
  return table.length === 0 ? [] : tomlTable(key, table);
}
