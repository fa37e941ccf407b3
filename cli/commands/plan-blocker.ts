/** Why a rollout could not start a node now, in the words of the rollout. */

import { findProblems } from '../../controllers/pool-status/pool-problems';
import { ANNOTATION } from '../../core/names';
import { preparedMark } from '../../core/node/prepared';
import type { MachineConfigNode } from '../../core/node/types';
import { assignNodes } from '../../core/pool';
import type { MachineConfigPool } from '../../core/pool/types';
import { decide } from '../../core/rollout/decide';
import type { Observation } from '../../core/rollout/picture';
import type { Member } from '../../core/rollout/standing';
import { compileSelector } from '../../core/selectors';
import type { ClusterView } from '../ports';

/**
 * Undefined when a node could start, or when all are updated.
 *
 * @param hasTarget - the rendered config of the pool exists
 */
export function planBlocker(
  view: ClusterView,
  observed: Observation,
  candidates: readonly Member[],
  hasTarget: boolean,
): string | undefined {
  return selectorProblem(view, observed.pool) ?? rolloutBlocker(observed, candidates, hasTarget);
}

function selectorProblem(view: ClusterView, pool: MachineConfigPool): string | undefined {
  const { name } = pool.metadata;
  const problems = findProblems(view.nodes, view.pools, assignNodes(view.nodes, view.pools));
  const invalid = problems.get(name)?.find(({ reason }) => reason === 'InvalidPool');
  if (invalid !== undefined) return invalid.message;
  if (!compileSelector(pool.spec.nodeSelector).empty) return undefined;
  return (
    `machineconfigpool ${name}: spec.nodeSelector is empty, so the pool has no nodes; ` +
    `add for example matchLabels: {"node-role.kubernetes.io/${name}": ""}`
  );
}

/** What a step of the rollout says once a person has started it, and all its candidates are prepared. */
function rolloutBlocker(
  observed: Observation,
  candidates: readonly Member[],
  hasTarget: boolean,
): string | undefined {
  const { pool, policy } = observed;
  const { configuration, ...spec } = pool.spec;
  const target = configuration?.name || undefined;
  const annotations = Object.entries(pool.metadata.annotations ?? {}).filter(
    ([key]) => key !== ANNOTATION.ROLLOUT_CANCELLED,
  );
  const { blocker } = decide({
    ...observed,
    pool: {
      ...pool,
      metadata: { ...pool.metadata, annotations: Object.fromEntries(annotations) },
      spec: hasTarget && configuration !== undefined ? { ...spec, configuration } : spec,
    },
    policy: { ...policy, trigger: 'Automatic' },
    machineConfigNodes: allPrepared(observed, candidates, target ?? ''),
  }).status;
  return target === undefined || hasTarget || blocker === undefined
    ? blocker
    : `rendered config ${target} of the pool does not exist; ${blocker}`;
}

function allPrepared(
  { machineConfigNodes, pool, now }: Observation,
  candidates: readonly Member[],
  config: string,
): readonly MachineConfigNode[] {
  const known = new Map(machineConfigNodes.map((one) => [one.metadata.name, one]));
  for (const { name, standing } of candidates) {
    if (standing.is !== 'open') continue;
    const mark = preparedMark({ id: `plan-${name}`, startedAt: now }, config, false);
    const { metadata, ...rest } = known.get(name) ?? {
      metadata: { name },
      spec: { node: { name }, pool: pool.metadata, configVersion: { desired: config } },
    };
    const annotations = { ...metadata.annotations, [ANNOTATION.PREPARED]: mark };
    known.set(name, { ...rest, metadata: { ...metadata, annotations } });
  }
  return [...known.values()];
}
