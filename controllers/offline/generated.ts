/** MachineConfigs that the controllers would generate from the other manifests. */

import { gunzipSync } from 'node:zlib';
import { readYamlDocument, type ManifestObject } from '../../adapters/manifests';
import type { KubeObject } from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { KUBELET_CONFIG, ofPool, type Origin } from '../../core/generated-configs';
import { lookAtKubelets, type KubeletObject } from '../../core/kubelet';
import type { MachineConfig } from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import type { Rest } from './check';
import type { Findings } from './findings';

export interface GeneratedOffline {
  readonly config: MachineConfig;
  /** The manifest that findings about it name. */
  readonly source: ManifestObject | undefined;
}

export interface OfflineObjects {
  of(kind: string): readonly KubeObject[];
  written(kind: string, name: string): ManifestObject | undefined;
}

interface GeneratedInput {
  readonly objects: OfflineObjects;
  readonly pools: readonly MachineConfigPool[];
  readonly configs: readonly MachineConfig[];
  readonly version: string;
  readonly rest: Rest;
}

const SELECTOR = ['spec', 'machineConfigPoolSelector'];

/** Also with findings, as for those that a pool would be degraded by. */
export function generatedOffline(
  input: GeneratedInput,
  findings: Findings,
): readonly GeneratedOffline[] {
  const { objects, pools, configs, version, rest } = input;
  const known = new Map(configs.map((config) => [config.metadata.name, config]));
  const [featureGate, configNode, apiServer, controllerConfig] = [
    ...['FeatureGate', 'Node', 'APIServer'].map((kind) => named(objects.of(kind), 'cluster')),
    named(objects.of('ControllerConfig'), CONTROLLER_CONFIG),
  ];
  const origins = objects.of('KubeletConfig') as readonly Origin[];
  refuseUnnumbered(input, origins, findings);
  const look = lookAtKubelets({
    ...{ origins: origins.map(asNew), pools, version, now: '1970-01-01T00:00:00Z' },
    machineConfigs: { get: (name) => known.get(name), list: () => configs },
    ...{ featureGate, configNode, apiServer, controllerConfig },
    readYaml: readYamlDocument,
    gunzip: (bytes) => gunzipSync(bytes),
  });
  for (const object of look.objects) report(object, input, findings);
  for (const { kind, says } of look.refused) {
    const written = objects.written(kind, 'cluster');
    if (written === undefined || rest === 'elsewhere') continue;
    findings.error(written, ['spec'], says, 'correct it, or add what is missing to the manifests');
  }
  const writes = [...look.cluster, ...look.objects.flatMap((object) => object.writes)];
  return writes.flatMap((write) => {
    if (!('config' in write)) return [];
    const { config } = write;
    const [owner] = config.metadata.ownerReferences ?? [];
    return [{ config, source: owner && objects.written(owner.kind, owner.name) }];
  });
}

function named(objects: readonly KubeObject[], name: string): KubeObject | undefined {
  return objects.find(({ metadata }) => metadata.name === name);
}

/** An export may have been written while the object was deleted. */
function asNew({ metadata, spec }: Origin): Origin {
  const { name, uid, annotations, creationTimestamp } = metadata;
  return {
    metadata: {
      name,
      generation: 1,
      ...(uid === undefined ? {} : { uid }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    ...(spec === undefined ? {} : { spec }),
  };
}

/** Their numbers follow from the order in which the cluster got them, which manifests do not say. */
function refuseUnnumbered(
  { objects, pools }: GeneratedInput,
  origins: readonly Origin[],
  findings: Findings,
): void {
  const isOpen = ({ metadata }: Origin): boolean =>
    metadata.annotations?.[ANNOTATION.NAME_SUFFIX] === undefined &&
    metadata.creationTimestamp === undefined;
  for (const pool of pools) {
    const selecting = ofPool(origins, pool);
    const [first, ...others] = 'found' in selecting ? selecting.found.filter(isOpen) : [];
    for (const { metadata } of others) {
      const written = objects.written(KUBELET_CONFIG.kind, metadata.name);
      if (written === undefined || first === undefined) continue;
      const problem = `pool ${pool.metadata.name} has KubeletConfig ${first.metadata.name}, too, and the newest of them would count alone`;
      findings.error(
        written,
        SELECTOR,
        problem,
        'put the settings of a pool into one KubeletConfig',
      );
    }
  }
}

function report(
  { origin, problem, findings: found, ignored }: KubeletObject,
  { objects, rest }: GeneratedInput,
  findings: Findings,
): void {
  const written = objects.written(KUBELET_CONFIG.kind, origin.metadata.name);
  if (written === undefined) return;
  for (const { path, problem: says, fix } of ignored) findings.warning(written, path, says, fix);
  for (const { path, problem: says, fix } of found) findings.error(written, path, says, fix);
  if (problem === undefined || found.length > 0) return;
  // What is missing here may be in the cluster.
  const fix = 'correct it, or add what is missing to the manifests';
  if (rest === 'none') findings.error(written, ['spec'], problem, fix);
  else if (rest === 'unknown') findings.warning(written, ['spec'], problem, fix);
}
