/** What generated MachineConfigs of all kinds share without a cluster. */

import { gunzipSync } from 'node:zlib';
import type { ManifestObject } from '../../adapters/manifests';
import type { KubeObject } from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { ofPool, type Origin, type OriginKind } from '../../core/generated-configs';
import type { MachineConfig } from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import type { TemplateFolder } from '../../core/templates';
import type { Rest } from './rest';
import type { Findings } from './findings';

export interface OfflineObjects {
  of(kind: string): readonly KubeObject[];
  written(kind: string, name: string): ManifestObject | undefined;
}

export interface GeneratedInput {
  readonly objects: OfflineObjects;
  readonly pools: readonly MachineConfigPool[];
  readonly configs: readonly MachineConfig[];
  readonly version: string;
  readonly rest: Rest;
  readonly templates: TemplateFolder;
}

export interface GeneratedOffline {
  readonly config: MachineConfig;
  /** The manifest that findings about it name. */
  readonly source: ManifestObject | undefined;
}

const SELECTOR = ['spec', 'machineConfigPoolSelector'];
export const CORRECT = 'correct it, or add what is missing to the manifests';

/** Nothing of what a look says is shown, so the time does not matter. */
export const NO_TIME = '1970-01-01T00:00:00Z';

export const gunzip = (bytes: Uint8Array): Uint8Array => gunzipSync(bytes);

export function viewOf(configs: readonly MachineConfig[]) {
  const known = new Map(configs.map((config) => [config.metadata.name, config]));
  return { get: (name: string) => known.get(name), list: () => configs };
}

/** The only object of its kind. */
export function singleOf({ objects }: GeneratedInput, kind: string) {
  return objects.of(kind).find(({ metadata }) => metadata.name === 'cluster');
}

export function controllerConfigOf({ objects }: GeneratedInput) {
  return objects.of('ControllerConfig').find(({ metadata }) => metadata.name === CONTROLLER_CONFIG);
}

/** An export may have been written while an object was deleted, and has a status. */
export function originsOf({ objects }: GeneratedInput, { kind }: OriginKind): readonly Origin[] {
  return (objects.of(kind) as readonly Origin[]).map(({ metadata, spec }) => {
    const { name, uid, annotations, creationTimestamp } = metadata;
    return {
      metadata: {
        ...{ name, generation: 1 },
        ...(uid === undefined ? {} : { uid }),
        ...(annotations === undefined ? {} : { annotations }),
        ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      },
      ...(spec === undefined ? {} : { spec }),
    };
  });
}

/** Their numbers follow from the order in which the cluster got them, which manifests do not say. */
export function refuseUnnumbered(
  { objects, pools }: GeneratedInput,
  { kind }: OriginKind,
  { origins, findings }: { readonly origins: readonly Origin[]; readonly findings: Findings },
): void {
  const isOpen = ({ metadata }: Origin): boolean =>
    metadata.annotations?.[ANNOTATION.NAME_SUFFIX] === undefined &&
    metadata.creationTimestamp === undefined;
  for (const pool of pools) {
    const selecting = ofPool(origins, pool);
    const [first, ...others] = 'found' in selecting ? selecting.found.filter(isOpen) : [];
    for (const { metadata } of others) {
      const written = objects.written(kind, metadata.name);
      if (written === undefined || first === undefined) continue;
      const problem = `pool ${pool.metadata.name} has ${kind} ${first.metadata.name}, too, and the newest of them would count alone`;
      findings.error(written, SELECTOR, problem, `put the settings of a pool into one ${kind}`);
    }
  }
}

/** Why a pool gets nothing of an object. What is missing here may be in the cluster. */
export function reportProblem(
  { rest }: GeneratedInput,
  written: ManifestObject | undefined,
  { problem, findings }: { readonly problem: string | undefined; readonly findings: Findings },
): void {
  if (written === undefined || problem === undefined) return;
  if (rest === 'none') findings.error(written, ['spec'], problem, CORRECT);
  else if (rest === 'unknown') findings.warning(written, ['spec'], problem, CORRECT);
}
