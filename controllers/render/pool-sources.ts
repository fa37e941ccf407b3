/** The MachineConfigs of a pool, and the facts that all pools share. */

import { ControllerConfig, MachineConfig as Schema, parseObject } from '../../adapters/api-schemas';
import type { CacheView } from '../../adapters/kube/cache';
import type { KubeObject } from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { fail, messageOf } from '../../core/errors';
import {
  IMAGE_FIX,
  imageProblem,
  type MachineConfig,
  type RenderControllerConfig,
} from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import type { MachineConfigPool } from '../../core/pool/types';
import { compileSelector, type CompiledSelector } from '../../core/selectors';
import { owningPools } from '../cluster-picture';

const IMAGES = ['baseOSContainerImage', 'osImageURL', 'baseOSExtensionsContainerImage'] as const;

/** Cached objects never change in place. */
const readConfigs = new WeakMap<MachineConfig, MachineConfig>();

/** @throws `InvalidPool` when the selector is missing or Kubernetes would refuse it */
export function configSelector(pool: MachineConfigPool): CompiledSelector {
  const { name } = pool.metadata;
  const selector = pool.spec.machineConfigSelector;
  if (selector === undefined) {
    throw fail(
      'InvalidPool',
      `machineconfigpool ${name}: spec.machineConfigSelector is missing, so the pool has no ` +
        `MachineConfigs; add for example matchLabels: {"machineconfiguration.openshift.io/role": "${name}"}`,
      { pool: name, field: 'spec.machineConfigSelector' },
    );
  }
  try {
    return compileSelector(selector);
  } catch (error) {
    throw fail(
      'InvalidPool',
      `machineconfigpool ${name}: spec.machineConfigSelector: invalid label selector: ${messageOf(error)}`,
      { pool: name, field: 'spec.machineConfigSelector' },
    );
  }
}

/** Rendered configs are never sources. */
export function isSource(selector: CompiledSelector, config: MachineConfig): boolean {
  return (
    !selector.empty && selector.matches(config.metadata.labels) && owningPools(config).length === 0
  );
}

/**
 * Sorted by name.
 *
 * @throws `InvalidMachineConfig` for one that does not match its CRD
 */
export function selectSources(
  picture: { readonly machineConfigs: Pick<CacheView<MachineConfig>, 'list'> },
  selector: CompiledSelector,
): readonly MachineConfig[] {
  return picture.machineConfigs
    .list()
    .filter((config) => isSource(selector, config))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map(readConfig);
}

function readConfig(stored: MachineConfig): MachineConfig {
  const known = readConfigs.get(stored);
  if (known !== undefined) return known;
  const what = `machineconfig ${stored.metadata.name}`;
  const config = parseObject(Schema, stored, what, 'InvalidMachineConfig');
  readConfigs.set(stored, config);
  return config;
}

/**
 * Without a ControllerConfig, or with an empty image, the OS image is unmanaged unless a
 * MachineConfig sets one.
 *
 * @throws `InvalidMachineConfig` when the ControllerConfig does not match its CRD, or an image of
 *   it has no digest
 */
export function clusterFacts(
  picture: { readonly controllerConfigs: Pick<CacheView<KubeObject>, 'get'> },
  controllerVersion: string,
): RenderControllerConfig {
  const stored = picture.controllerConfigs.get(CONTROLLER_CONFIG);
  const config =
    stored === undefined
      ? undefined
      : parseObject(
          ControllerConfig,
          stored,
          `controllerconfig ${CONTROLLER_CONFIG}`,
          'InvalidMachineConfig',
        );
  for (const field of IMAGES) refuseImage(field, config?.spec[field]);
  return {
    baseOSContainerImage: config?.spec.baseOSContainerImage || config?.spec.osImageURL || '',
    baseOSExtensionsContainerImage: config?.spec.baseOSExtensionsContainerImage ?? '',
    releaseVersion: config?.metadata.annotations?.[ANNOTATION.RELEASE_IMAGE_VERSION] ?? '',
    controllerVersion,
  };
}

function refuseImage(name: (typeof IMAGES)[number], image: string | null | undefined): void {
  const problem = imageProblem(image ?? undefined);
  if (problem === undefined) return;
  const field = `spec.${name}`;
  throw fail(
    'InvalidMachineConfig',
    `controllerconfig ${CONTROLLER_CONFIG}: ${field}: ${problem}; ${IMAGE_FIX}`,
    { controllerConfig: CONTROLLER_CONFIG, field },
  );
}
