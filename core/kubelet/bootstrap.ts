/**
 * The MachineConfigs that a cluster is installed with, all pools at once. No process calls it, only the
 * conformance cases.
 */

import { messageOf } from '../errors';
import {
  baseName,
  bootstrapOwner,
  generatedMachineConfig,
  generatedSpec,
  KUBELET_CONFIG,
  type GeneratedContent,
} from '../generated-configs';
import type { MachineConfig } from '../machine-config/types';
import type { LabelSelector } from '../object-meta';
import { compileSelector, type Labels } from '../selectors';
import type { KubeletBase } from './base';
import type { ReadYaml } from './decode';
import { featureGateFiles, kubeletConfigFiles, nodeConfigParts } from './machine-config';
import { staticPodPathError } from './static-pod-path';
import type { UserKubeletConfig } from './types';
import { userKubeletConfigError } from './validate-user';

export interface BootstrapPool {
  readonly name: string;
  readonly labels?: Labels;
  readonly nodeSelector?: LabelSelector;
}

export interface BootstrapKubeletConfig {
  readonly selector?: LabelSelector | undefined;
  readonly user: UserKubeletConfig;
}

export interface BootstrapInput {
  readonly pools: readonly BootstrapPool[];
  /** What a pool begins with. */
  readonly baseOf: (pool: string) => KubeletBase;
  readonly controllerVersion: string;
  readonly readYaml: ReadYaml;
}

export type BootstrapResult =
  { readonly machineConfigs: readonly MachineConfig[] } | { readonly error: string };

/**
 * One MachineConfig per KubeletConfig and pool that it selects. A second KubeletConfig for a pool is
 * refused. The selector of none selects nothing.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_bootstrap.go (7ff337a4), RunKubeletBootstrap
 */
export function bootstrapKubeletConfigs(
  configs: readonly BootstrapKubeletConfig[],
  input: BootstrapInput,
): BootstrapResult {
  for (const { user } of configs) {
    const error = userKubeletConfigError(user, input.readYaml);
    if (error !== undefined) return { error };
  }
  const made = new Map<string, MachineConfig>();
  for (const config of configs) {
    const selected = selectedPools(config, input.pools);
    if ('error' in selected) return selected;
    for (const pool of selected.pools) {
      const result = machineConfigOf(config, pool, input);
      if ('error' in result) return result;
      if (made.has(pool.name)) return { error: severalFor(pool.name) };
      made.set(pool.name, result.machineConfig);
    }
  }
  return { machineConfigs: [...made.values()] };
}

function selectedPools(
  config: BootstrapKubeletConfig,
  pools: readonly BootstrapPool[],
): { readonly pools: readonly BootstrapPool[] } | { readonly error: string } {
  try {
    const selector = compileSelector(config.selector);
    return { pools: pools.filter(({ labels }) => !selector.empty && selector.matches(labels)) };
  } catch (error) {
    return { error: `invalid label selector: ${messageOf(error)}` };
  }
}

function machineConfigOf(
  { user }: BootstrapKubeletConfig,
  pool: BootstrapPool,
  { baseOf, controllerVersion, readYaml }: BootstrapInput,
): { readonly machineConfig: MachineConfig } | { readonly error: string } {
  const error = staticPodPathError(user, pool, readYaml);
  if (error !== undefined) return { error };
  const made = kubeletConfigFiles(baseOf(pool.name), user, readYaml);
  if ('error' in made) return made;
  const machineConfig = generatedMachineConfig({
    name: baseName(KUBELET_CONFIG.word, pool.name),
    pool: pool.name,
    spec: generatedSpec(made),
    controllerVersion,
    owner: bootstrapOwner(KUBELET_CONFIG),
  });
  return { machineConfig };
}

function severalFor(pool: string): string {
  return `error found multiple KubeletConfigs targeting MachineConfigPool ${pool}. Please apply only one KubeletConfig manifest for each pool during installation`;
}

/** @see MCO pkg/controller/kubelet-config/kubelet_config_features.go (7ff337a4), RunFeatureGateBootstrap */
export function bootstrapFeatureGates(input: BootstrapInput): BootstrapResult {
  return forEachPool(input, 98, (base) => featureGateFiles(base, input.readYaml));
}

/** @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4), RunNodeConfigBootstrap */
export function bootstrapNodeConfig(input: BootstrapInput): BootstrapResult {
  return forEachPool(input, 97, (base) => {
    if (base.node === undefined) return { error: 'nodes.config.openshift.io resource not found' };
    return nodeConfigParts(base, input.readYaml);
  });
}

function forEachPool(
  { pools, baseOf, controllerVersion }: BootstrapInput,
  prefix: 97 | 98,
  partsOf: (base: KubeletBase) => GeneratedContent | { readonly error: string },
): BootstrapResult {
  const machineConfigs: MachineConfig[] = [];
  for (const { name: pool } of pools) {
    const parts = partsOf(baseOf(pool));
    if ('error' in parts) return parts;
    const name = baseName(KUBELET_CONFIG.word, pool, prefix);
    const spec = generatedSpec(parts);
    machineConfigs.push(generatedMachineConfig({ name, pool, spec, controllerVersion }));
  }
  return { machineConfigs };
}
