/**
 * MachineConfigs under names of a generator that no object claims: they would win over the others
 * of their pool, and nobody would keep them.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_controller.go (7ff337a4),
 *   cleanUpDuplicatedMC
 */

import { ANNOTATION } from '../names';
import { poolInName } from './names';
import type { KnownConfig, Origin, OriginKind, SelectedPool } from './types';

interface StraysInput {
  readonly kind: OriginKind;
  readonly origin: Origin;
  readonly origins: readonly Origin[];
  readonly pools: readonly SelectedPool[];
  readonly configs: readonly KnownConfig[];
  readonly version: string;
  readonly defects: 'corrected' | 'as-observed';
}

/** @param claimed - by the object of this look */
export function strays(input: StraysInput, claimed: readonly string[]): readonly string[] {
  const isStray =
    input.defects === 'corrected' ? unclaimed(input, claimed) : ofOtherVersion(input, claimed);
  return input.configs.filter(isStray).map(({ metadata }) => metadata.name);
}

/**
 * This object's, of a pool that it does not select any more; and those that no object of the kind
 * claims, of pools that this one selects or that do not exist. Another object's stay until it is
 * looked at, whoever generated them.
 */
function unclaimed({ kind, origin, origins, pools }: StraysInput, claimed: readonly string[]) {
  const others = new Set(
    origins.flatMap(({ metadata: { name, finalizers = [] } }) =>
      name === origin.metadata.name ? [] : finalizers,
    ),
  );
  const uids = new Set(origins.flatMap(({ metadata: { uid } }) => uid ?? []));
  const existing = new Set(pools.map(({ metadata }) => metadata.name));
  const selected = new Set(claimed.map((name) => poolInName(kind.word, name)));
  return ({ metadata: { name, ownerReferences = [] } }: KnownConfig): boolean => {
    const pool = poolInName(kind.word, name);
    if (pool === undefined || claimed.includes(name) || others.has(name)) return false;
    const owner = ownerReferences.find((reference) => reference.kind === kind.kind)?.uid;
    if (owner !== undefined && owner === origin.metadata.uid) return true;
    if (owner !== undefined && uids.has(owner)) return false;
    return selected.has(pool) || !existing.has(pool);
  };
}

function ofOtherVersion({ kind, version }: StraysInput, claimed: readonly string[]) {
  return ({ metadata: { name, annotations } }: KnownConfig): boolean =>
    (kind.word === 'containerruntime' || name.startsWith('99')) &&
    name.includes(`generated-${kind.word}`) &&
    !claimed.includes(name) &&
    annotations?.[ANNOTATION.GENERATED_BY_CONTROLLER_VERSION] !== version;
}
