/** Drop-ins of CRI-O: one file per field, so that a field that is not set keeps CRI-O's default. */

import type { GeneratedFile } from '../generated-configs';
import { tomlEntry, tomlTable, toToml, type TomlTable } from '../toml';
import type { ContainerRuntimeConfiguration, RuntimeGates, Store } from './types';
import { quantityOf } from './validate';

const FOLDER = '/etc/crio/crio.conf.d';

/**
 * The files of the fields that are set.
 *
 * @param config - without refusals
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4), createCRIODropinFiles
 */
export function crioDropIns(
  config: ContainerRuntimeConfiguration,
  gates: RuntimeGates,
): readonly GeneratedFile[] {
  const { logLevel = '', pidsLimit, defaultRuntime = '' } = config;
  const logSize = quantityOf('logSizeMax', config.logSizeMax)?.value ?? 0n;
  const artifacts = gates.additionalStorage ? pathsOf(config.additionalArtifactStores) : [];
  return [
    ...dropIn('logLevel', tomlEntry('log_level', logLevel === '' ? undefined : logLevel)),
    ...dropIn('pidsLimit', tomlEntry('pids_limit', pidsLimit)),
    ...dropIn('logSizeMax', tomlEntry('log_size_max', logSize === 0n ? undefined : logSize)),
    ...dropIn(
      'defaultRuntime',
      tomlEntry('default_runtime', defaultRuntime === '' ? undefined : defaultRuntime),
    ),
    ...dropIn(
      'additionalArtifactStores',
      tomlEntry('additional_artifact_stores', artifacts.length === 0 ? undefined : artifacts),
    ),
  ];
}

export function pathsOf(stores: readonly Store[] = []): readonly string[] {
  return stores.map(({ path }) => path);
}

function dropIn(field: string, runtime: TomlTable): readonly GeneratedFile[] {
  if (runtime.length === 0) return [];
  const contents = toToml(tomlTable('crio', tomlTable('runtime', runtime)));
  return [{ path: `${FOLDER}/01-ctrcfg-${field}`, contents }];
}
