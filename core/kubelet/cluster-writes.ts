/**
 * The MachineConfigs of the cluster's own settings: `98-<pool>-generated-kubelet` of the FeatureGate
 * and `97-<pool>-generated-kubelet` of nodes.config. They belong to these objects and go with them.
 * Custom pools have those of worker; MCO gives them feature gates of their own, which then win over
 * the KubeletConfigs of worker.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_features.go (7ff337a4), syncFeatureHandler
 * @see MCO pkg/controller/kubelet-config/kubelet_config_nodes.go (7ff337a4), syncNodeConfigHandler
 */

import {
  baseName,
  generatedMachineConfig,
  generatedSpec,
  KUBELET_CONFIG,
  storedConfig,
  type ConfigWrite,
} from '../generated-configs';
import { isRecord } from '../is-record';
import type { MachineConfig } from '../machine-config/types';
import { CONFIG_GROUP } from '../names';
import type { OwnerReference } from '../object-meta';
import type { KubeletBase } from './base';
import type { Refused } from './cluster-settings';
import type { ReadYaml } from './decode';
import { featureGateFiles, nodeConfigParts } from './machine-config';
import { takesCgroupArguments } from './node-config';

interface ClusterInput {
  readonly pools: readonly string[];
  readonly version: string;
  readonly featureGate: unknown;
  readonly configNode: unknown;
  readonly configNamed: (name: string) => MachineConfig | undefined;
  readonly baseOf: (pool: string) => { readonly base: KubeletBase } | { readonly problem: string };
  readonly readYaml: ReadYaml;
}

export interface ClusterWrites {
  readonly writes: readonly ConfigWrite[];
  readonly refused: readonly Refused[];
}

export function clusterWrites(input: ClusterInput): ClusterWrites {
  const pools = input.pools.filter(takesCgroupArguments);
  const made = pools.flatMap((pool) => [
    ownedBy(input, 'FeatureGate', pool),
    ownedBy(input, 'Node', pool),
  ]);
  return {
    writes: made.flatMap((one) => ('writes' in one ? one.writes : [])),
    refused: made.flatMap((one) => ('says' in one ? [one] : [])),
  };
}

function ownedBy(
  input: ClusterInput,
  kind: Refused['kind'],
  pool: string,
): { readonly writes: readonly ConfigWrite[] } | Refused {
  const owner = ownerOf(kind, kind === 'Node' ? input.configNode : input.featureGate);
  if (owner === undefined) return { writes: [] };
  const found = input.baseOf(pool);
  if ('problem' in found) return { kind, says: found.problem };
  const name = baseName(KUBELET_CONFIG.word, pool, kind === 'Node' ? 97 : 98);
  const before = input.configNamed(name);
  const parts =
    kind === 'Node'
      ? nodeConfigParts(found.base, input.readYaml, {
          existing: before?.spec.kernelArguments ?? [],
          hasCgroups: true,
        })
      : featureGateFiles(found.base, input.readYaml);
  if ('error' in parts) return { kind, says: `pool ${pool}: ${parts.error}` };
  const spec = generatedSpec(parts);
  const controllerVersion = input.version;
  const config = generatedMachineConfig({ name, pool, spec, owner, controllerVersion });
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
