/** Manifests without effect, and policies that no pool could follow. */

import { resolveDriftPolicy } from '../../core/drift';
import { generatedElsewhere, type MachineConfig } from '../../core/machine-config';
import { LABEL } from '../../core/names';
import { setsOfPool } from '../../core/pinned-images';
import type { RolloutPolicy } from '../../core/pool/types';
import { resolvePolicy } from '../../core/rollout';
import type { CompiledSelector } from '../../core/selectors';
import { owningPools } from '../cluster-picture';
import { configSelector, isSource } from '../render/pool-sources';
import type { OfflineCheck } from './check';
import { reportAdmission, reportGenerations } from './check-pool';
import { attempt } from './failures';
import type { Findings } from './findings';
import type { OfflineView } from './offline-view';
import { reportTooLarge } from './together';

/**
 * Checks MachineConfigs that no pool selects, grouped by role. Manifests without any pool are a
 * part of something larger.
 */
export function checkUnselected(check: OfflineCheck): void {
  const { view } = check;
  const selectors = poolSelectors(view);
  const unselected = view.machineConfigs.list().filter((config) => !isUsed(config, selectors));
  for (const role of new Set(unselected.map(roleOf))) {
    const together = unselected.filter((config) => roleOf(config) === role);
    const [foreign] = generatedElsewhere(together, check.version);
    const written = view.written('MachineConfig', foreign?.metadata.name ?? '');
    if (written !== undefined) reportGenerations(together, written, check);
    if (!reportAdmission(together, check) || role === undefined) continue;
    const machineConfigSelector = { matchLabels: { [LABEL.ROLE]: role } };
    reportTooLarge(together, { metadata: { name: role }, spec: { machineConfigSelector } }, check);
  }
}

function roleOf({ metadata }: MachineConfig): string | undefined {
  return metadata.labels?.[LABEL.ROLE];
}

export function reportUseless(view: OfflineView, findings: Findings): void {
  const selectors = poolSelectors(view);
  // With a wrong selector, any MachineConfig may be meant.
  if (selectors.length === 0 || selectors.length < view.pools.length) return;
  const known = view.pools.map(({ metadata }) => metadata.name);
  for (const config of view.machineConfigs.list()) {
    if (!isUsed(config, selectors)) reportUnselected(config, known, view, findings);
  }
  for (const { metadata } of view.policies) {
    const written = view.written('RolloutPolicy', metadata.name);
    if (written === undefined || known.includes(metadata.name)) continue;
    const fix = `name it after its pool (${known.join(', ')}), or add the pool`;
    findings.warning(written, ['metadata', 'name'], 'there is no pool of this name', fix);
  }
  for (const set of view.pinnedImageSets) {
    const written = view.written('PinnedImageSet', set.metadata.name);
    const isOfPool = view.pools.some((pool) => setsOfPool(pool, [set]).length > 0);
    if (written === undefined || isOfPool) continue;
    const fix = `label it ${LABEL.ROLE}: ${known[0]}, or name it in spec.pinnedImageSets of a pool`;
    findings.warning(written, ['metadata'], 'no pool has this set', fix);
  }
}

/** Invalid ones are reported with their pools. */
function poolSelectors(view: OfflineView): readonly CompiledSelector[] {
  return view.pools.flatMap((pool): CompiledSelector[] => {
    try {
      return [configSelector(pool)];
    } catch {
      return [];
    }
  });
}

function isUsed(config: MachineConfig, selectors: readonly CompiledSelector[]): boolean {
  return owningPools(config).length > 0 || selectors.some((one) => isSource(one, config));
}

function reportUnselected(
  { metadata }: MachineConfig,
  pools: readonly string[],
  view: OfflineView,
  findings: Findings,
): void {
  const written = view.written('MachineConfig', metadata.name);
  // What is generated is no mistake of a person.
  if (written?.kind !== 'MachineConfig') return;
  const path = ['metadata', 'labels', LABEL.ROLE];
  const role = metadata.labels?.[LABEL.ROLE];
  if (role === undefined) {
    const fix = `add the label ${LABEL.ROLE} with the name of a pool (${pools.join(', ')})`;
    findings.warning(written, path.slice(0, -1), 'no pool selects it', fix);
    return;
  }
  const fix = `use the name of a pool (${pools.join(', ')}), or add the pool`;
  findings.warning(written, path, `no pool selects the role "${role}"`, fix);
}

export function checkPolicy(policy: RolloutPolicy, view: OfflineView, findings: Findings): void {
  const written = view.written('RolloutPolicy', policy.metadata.name);
  if (written === undefined) return;
  for (const resolve of [resolvePolicy, resolveDriftPolicy]) {
    attempt(() => resolve(policy.spec), written, findings);
  }
}
