/**
 * Which pools get a MachineConfig of their own of what is set for all machines of a cluster. A custom
 * pool has that of worker, unless it does not select it or a file of its own would win over it.
 *
 * MCO gives one to every pool (feature gates) or to its own pools alone (nodes.config, registries).
 */

import type { MachineConfig } from '../machine-config/types';
import { ANNOTATION, BUILT_IN_POOLS, LABEL } from '../names';
import { takesRole } from '../pool/roles';
import type { MachineConfigPool } from '../pool/types';
import type { ConfigWrite } from './stored-config';

export interface ForAll {
  /** In the annotation that tells Slipway's MachineConfigs from those of another controller. */
  readonly from: string;
  readonly nameOf: (pool: string) => string;
  /** Whether the pool's own MachineConfig holds the files that the settings are merged into. */
  readonly hasOwnFiles: (pool: MachineConfigPool) => boolean;
  readonly machineConfigs: {
    get(name: string): MachineConfig | undefined;
    list(): readonly MachineConfig[];
  };
}

export interface Due {
  readonly pool: MachineConfigPool;
  readonly name: string;
  readonly before: MachineConfig | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The MachineConfigs that are to be written, and those that are to go. */
export function forAll(
  pools: readonly MachineConfigPool[],
  settings: ForAll,
): { readonly due: readonly Due[]; readonly gone: readonly ConfigWrite[] } {
  const due = pools.flatMap((pool) => dueFor(pool, settings));
  const names = new Set(due.map(({ name }) => name));
  const gone = settings.machineConfigs
    .list()
    .filter((config) => isOurs(config, settings) && !names.has(config.metadata.name))
    .map(({ metadata: { name } }): ConfigWrite => ({ do: 'remove', name }));
  return { due, gone };
}

function dueFor(pool: MachineConfigPool, settings: ForAll): readonly Due[] {
  const { name: poolName } = pool.metadata;
  const isBuiltIn = BUILT_IN_POOLS.includes(poolName);
  if (!isBuiltIn && !takesRole(pool, poolName)) return [];
  const name = settings.nameOf(poolName);
  const before = settings.machineConfigs.get(name);
  if (isBuiltIn || !takesRole(pool, 'worker') || settings.hasOwnFiles(pool)) {
    const annotations = { [ANNOTATION.GENERATED_FROM]: settings.from };
    return [{ pool, name, before, annotations }];
  }
  return isOfMco(before) ? [{ pool, name, before, annotations: {} }] : [];
}

/** It wins over that of worker, so it has to follow the settings, as it would with MCO. */
function isOfMco(config: MachineConfig | undefined): boolean {
  const { annotations = {} } = config?.metadata ?? {};
  return (
    annotations[ANNOTATION.GENERATED_BY_CONTROLLER_VERSION] !== undefined &&
    annotations[ANNOTATION.GENERATED_FROM] === undefined
  );
}

/** A person's copy has the annotation, too, and another name or role. */
function isOurs({ metadata }: MachineConfig, { from, nameOf }: ForAll): boolean {
  const { name, labels = {}, annotations = {} } = metadata;
  const role = labels[LABEL.ROLE];
  const isFrom = annotations[ANNOTATION.GENERATED_FROM] === from;
  return isFrom && role !== undefined && name === nameOf(role);
}
