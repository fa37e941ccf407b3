/** MachineConfigs of ContainerRuntimeConfigs. */

import { fail, messageOf } from '../errors';
import {
  baseName,
  bootstrapOwner,
  CONTAINER_RUNTIME_CONFIG,
  generatedMachineConfig,
  generatedSpec,
  type GeneratedFile,
} from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import { compileSelector } from '../selectors';
import type { TomlPort } from '../toml';
import { crioDropIns } from './drop-ins';
import { changesStorage, STORAGE_CONF, updateStorageConf } from './storage-conf';
import type {
  ContainerRuntimeConfig,
  ContainerRuntimeConfiguration,
  RuntimeGates,
  TargetPool,
} from './types';
import { containerRuntimeRefusal } from './validate';

interface RuntimeFiles {
  readonly files: readonly GeneratedFile[];
  /** Why `storage.conf` is left out although the config changes it, in MCO's words. */
  readonly storageError?: string;
}

interface FilesInput {
  readonly gates: RuntimeGates;
  readonly port: TomlPort;
  /** The base `storage.conf` of the role. */
  readonly storageConf: string;
}

/** The files of a config without refusals, in the order of the Ignition. */
export function containerRuntimeFiles(
  config: ContainerRuntimeConfiguration,
  { gates, port, storageConf }: FilesInput,
): RuntimeFiles {
  const dropIns = crioDropIns(config, gates);
  if (!changesStorage(config, gates)) return { files: dropIns };
  try {
    const contents = updateStorageConf(storageConf, config, { gates, port });
    return { files: [{ path: STORAGE_CONF, contents }, ...dropIns] };
  } catch (error) {
    const storageError = `could not update container runtime config with new changes: ${messageOf(error)}`;
    return { files: dropIns, storageError };
  }
}

interface BootstrapInput {
  readonly configs: readonly ContainerRuntimeConfig[];
  readonly pools: readonly TargetPool[];
  readonly gates: RuntimeGates;
  readonly port: TomlPort;
  readonly controllerVersion: string;
  /** The base `storage.conf` of a role. */
  readonly storageConfOf: (role: string) => string;
}

/**
 * The MachineConfigs of the first configs of a cluster: one per config and pool that it selects. Only
 * the conformance cases call it.
 *
 * @throws `InvalidMachineConfig` in MCO's words for a refused config, a bad selector, and a second
 * config of one pool; Slipway's words where MCO crashes, on a config without
 * `spec.containerRuntimeConfig`
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_bootstrap.go (7ff337a4),
 *   RunContainerRuntimeBootstrap
 */
export function bootstrapContainerRuntime(input: BootstrapInput): readonly MachineConfig[] {
  const taken = new Set<string>();
  return input.configs.flatMap((config) => {
    const configuration = config.spec.containerRuntimeConfig;
    const refusal = containerRuntimeRefusal(configuration);
    if (refusal !== undefined) throw refused(refusal);
    return selectedPools(config, input.pools).map((pool) => {
      if (configuration === undefined) throw withoutConfiguration(config);
      if (taken.has(pool.name)) throw refused(secondConfig(pool.name));
      taken.add(pool.name);
      return bootstrapMachineConfig(pool.name, configuration, input);
    });
  });
}

function bootstrapMachineConfig(
  pool: string,
  configuration: ContainerRuntimeConfiguration,
  { gates, port, storageConfOf, controllerVersion }: BootstrapInput,
): MachineConfig {
  const storageConf = storageConfOf(pool);
  return generatedMachineConfig({
    name: baseName(CONTAINER_RUNTIME_CONFIG.word, pool),
    pool,
    spec: generatedSpec(containerRuntimeFiles(configuration, { gates, port, storageConf })),
    controllerVersion,
    owner: bootstrapOwner(CONTAINER_RUNTIME_CONFIG),
  });
}

/** A config without a selector selects no pool. */
function selectedPools(
  config: ContainerRuntimeConfig,
  pools: readonly TargetPool[],
): readonly TargetPool[] {
  try {
    const selector = compileSelector(config.spec.machineConfigPoolSelector);
    return selector.empty ? [] : pools.filter(({ labels }) => selector.matches(labels));
  } catch (error) {
    throw refused(`invalid label selector: ${messageOf(error)}`);
  }
}

function secondConfig(pool: string): string {
  const found = `error found multiple ContainerConfig targeting MachineConfigPool ${pool}`;
  const fix = 'Please apply only one ContainerConfig manifest for each pool during installation';
  return `could not marshal container runtime ignition: ${found}. ${fix}`;
}

function withoutConfiguration({ metadata }: ContainerRuntimeConfig): Error {
  return refused(
    `ContainerRuntimeConfig ${metadata.name}: spec.containerRuntimeConfig is missing; add it, {} for no changes`,
  );
}

function refused(message: string): Error {
  return fail('InvalidMachineConfig', message);
}
