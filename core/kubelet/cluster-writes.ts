/**
 * The MachineConfigs of the cluster's own settings: `98-<pool>-generated-kubelet` of the FeatureGate
 * and `97-<pool>-generated-kubelet` of nodes.config. They belong to these objects and go with them.
 * A custom pool has those of worker where it can; MCO gives it feature gates of its own, which then win
 * over the KubeletConfigs of worker.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_features.go (7ff337a4), syncFeatureHandler
 * @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4), syncNodeConfigHandler
 */

import {
  baseName,
  forAll,
  generatedMachineConfig,
  generatedSpec,
  KUBELET_CONFIG,
  storedConfig,
  type ConfigWrite,
  type Due,
} from '../generated-configs';
import { isRecord } from '../is-record';
import type { MachineConfig } from '../machine-config/types';
import { CONFIG_GROUP } from '../names';
import type { OwnerReference } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';
import type { Refused } from './cluster-settings';
import type { NoBase, PoolBase } from './content';
import type { ReadYaml } from './decode';
import { featureGateFiles, nodeConfigParts } from './machine-config';

interface ClusterInput {
  readonly pools: readonly MachineConfigPool[];
  readonly version: string;
  readonly featureGate: unknown;
  readonly configNode: unknown;
  readonly machineConfigs: {
    get(name: string): MachineConfig | undefined;
    list(): readonly MachineConfig[];
  };
  readonly baseOf: (pool: MachineConfigPool) => PoolBase | NoBase;
  readonly readYaml: ReadYaml;
}

export interface ClusterWrites {
  readonly writes: readonly ConfigWrite[];
  readonly refused: readonly Refused[];
}

export function clusterWrites(input: ClusterInput): ClusterWrites {
  const made = [...ownedBy(input, 'FeatureGate'), ...ownedBy(input, 'Node')];
  return {
    writes: made.flatMap((one) => ('writes' in one ? one.writes : [])),
    refused: made.flatMap((one) => ('says' in one ? [one] : [])),
  };
}

type Made = { readonly writes: readonly ConfigWrite[] } | Refused;

function ownedBy(input: ClusterInput, kind: Refused['kind']): readonly Made[] {
  const owner = ownerOf(kind, kind === 'Node' ? input.configNode : input.featureGate);
  if (owner === undefined) return [];
  const { due, gone } = forAll(input.pools, {
    from: kind,
    nameOf: (pool) => baseName(KUBELET_CONFIG.word, pool, kind === 'Node' ? 97 : 98),
    hasOwnFiles: (pool) => input.baseOf(pool).isOwn,
    machineConfigs: input.machineConfigs,
  });
  return [...due.map((one) => madeFor(one, owner, { ...input, kind })), { writes: gone }];
}

function madeFor(
  { pool, name, before, annotations }: Due,
  owner: OwnerReference,
  { kind, baseOf, readYaml, version }: ClusterInput & Pick<Refused, 'kind'>,
): Made {
  const found = baseOf(pool);
  if ('problem' in found) return { kind, says: found.problem };
  const existing = before?.spec.kernelArguments ?? [];
  const parts =
    kind === 'Node'
      ? nodeConfigParts(found.base, readYaml, existing)
      : featureGateFiles(found.base, readYaml);
  const { name: poolName } = pool.metadata;
  if ('error' in parts) return { kind, says: `pool ${poolName}: ${parts.error}` };
  const config = generatedMachineConfig({
    ...{ name, pool: poolName, owner, annotations, controllerVersion: version },
    spec: generatedSpec(parts),
  });
  return { writes: storedConfig(before, config) };
}

function ownerOf(kind: Refused['kind'], object: unknown): OwnerReference | undefined {
  if (!isRecord(object)) return undefined;
  const { uid = '' } = object['metadata'] as { readonly uid?: string };
  return {
    ...{ apiVersion: `${CONFIG_GROUP}/v1`, kind, name: 'cluster', uid },
    ...{ controller: true, blockOwnerDeletion: false },
  };
}
