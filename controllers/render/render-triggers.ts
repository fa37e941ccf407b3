import type { CacheEvent } from '../../adapters/kube/cache';
import { canonicalJson } from '../../core/machine-config/canonical';
import type { MachineConfig } from '../../core/machine-config';
import { streamNameOf } from '../../core/pool/image-stream';
import type { MachineConfigPool } from '../../core/pool/types';
import type { CompiledSelector } from '../../core/selectors';
import { owningPools } from '../cluster-picture';
import { configSelector, isSource } from './pool-sources';

const selectors = new WeakMap<MachineConfigPool, CompiledSelector | 'invalid'>();

export function poolsConcerned(
  event: CacheEvent<MachineConfig>,
  pools: readonly MachineConfigPool[],
): readonly string[] {
  const versions = event.type === 'modified' ? [event.previous, event.object] : [event.object];
  const owners = new Set(versions.flatMap(owningPools));
  if (owners.size > 0) {
    // The controllers created it themselves.
    if (event.type === 'added' || !isTampered(event)) return [];
    // The watch may show a pool that points to a deleted config later.
    const isConcerned = ({ metadata, spec }: MachineConfigPool): boolean =>
      owners.has(metadata.name) && (event.type === 'deleted' || isTarget(spec, event.object));
    return pools.filter(isConcerned).map(({ metadata }) => metadata.name);
  }
  return pools
    .filter((pool) => versions.some((config) => isSelected(pool, config)))
    .map(({ metadata }) => metadata.name);
}

/** The parts that decide the rendered config. */
export function renderedPart(pool: MachineConfigPool): string {
  const { metadata, spec } = pool;
  const { machineConfigSelector } = spec;
  const parts = [machineConfigSelector, metadata.deletionTimestamp, metadata.uid];
  return canonicalJson([...parts, streamNameOf(pool)]);
}

/** To recognise own writes. */
export function configurationPart({ spec }: Pick<MachineConfigPool, 'spec'>): string {
  return canonicalJson([spec.configuration?.name, spec.configuration?.source ?? []]);
}

function isTampered(event: CacheEvent<MachineConfig>): boolean {
  if (event.type !== 'modified') return event.type === 'deleted';
  return canonicalJson(event.previous.spec) !== canonicalJson(event.object.spec);
}

function isTarget(spec: MachineConfigPool['spec'], config: MachineConfig): boolean {
  return spec.configuration?.name === config.metadata.name;
}

function isSelected(pool: MachineConfigPool, config: MachineConfig): boolean {
  let selector = selectors.get(pool);
  if (selector === undefined) {
    selector = compiled(pool);
    selectors.set(pool, selector);
  }
  return selector !== 'invalid' && isSource(selector, config);
}

/** An invalid selector selects nothing; rendering the pool reports it. */
function compiled(pool: MachineConfigPool): CompiledSelector | 'invalid' {
  try {
    return configSelector(pool);
  } catch {
    return 'invalid';
  }
}
