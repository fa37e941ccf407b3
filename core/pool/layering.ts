/**
 * Pools that MCO has layered: it builds an OS image for them (MachineOSBuild), and the target of
 * their nodes is a config and an image. Slipway layers no pool; these are MCO's answers for one.
 *
 * @see MCO pkg/controller/node/status.go, pkg/controller/common/mos_state.go (7ff337a4)
 */

import { ANNOTATION, PoolCondition } from '../names';
import { desiredConfigOf, isDone, isTargetedAt } from '../node/predicates';
import type { Node } from '../node/types';
import type { Condition, ObjectMeta } from '../object-meta';
import { isConditionTrue, type ConditionValue } from './conditions';
import type { MachineConfigPool } from './types';

export interface MachineOSConfig {
  readonly metadata: ObjectMeta;
  readonly status?: {
    /** The image for the nodes of the pool, by digest. */
    readonly currentImagePullSpec?: string;
  };
}

export interface MachineOSBuild {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly machineConfig: { readonly name: string } };
  readonly status?: {
    /** The built image, by digest. */
    readonly digestedImagePushSpec?: string;
    /** Prepared, Building, Succeeded, Failed, Interrupted; none True = not started. */
    readonly conditions?: readonly Condition[];
  };
}

/** A pool with either object is layered. */
export interface Layering {
  readonly config?: MachineOSConfig;
  readonly build?: MachineOSBuild;
}

function isLayered({ config, build }: Layering): boolean {
  return config !== undefined || build !== undefined;
}

/**
 * Whether the node's target is that of the pool, so that it is no candidate. A node with a desired
 * image is not targeted at a config without one.
 *
 * @see MCO LayeredNodeState.CheckNodeCandidacyForUpdate
 */
export function isTargetedAtPool(
  node: Node,
  pool: MachineConfigPool,
  layering: Layering = {},
): boolean {
  return isLayered(layering)
    ? isTargetedAtBuild(node, layering)
    : isTargetedAt(node, pool.spec.configuration?.name);
}

/**
 * Done, and on the pool's config; in a layered pool also on the config of the build and on its
 * image. In other pools MCO ignores images: a node with an image on both sides is updated, and a
 * candidate.
 *
 * @see MCO LayeredNodeState.IsDone
 */
export function isUpdatedInPool(node: Node, pool: MachineConfigPool, layering: Layering): boolean {
  const isOnConfig = desiredConfigOf(node) === pool.spec.configuration?.name;
  return isDone(node) && isOnConfig && (!isLayered(layering) || isTargetedAtBuild(node, layering));
}

/** @see MCO LayeredNodeState.IsDesiredEqualToBuild */
function isTargetedAtBuild(node: Node, { config, build }: Layering): boolean {
  const image = config?.status?.currentImagePullSpec;
  const wanted = node.metadata.annotations?.[ANNOTATION.DESIRED_IMAGE];
  return (
    !!image &&
    wanted === image &&
    build !== undefined &&
    (desiredConfigOf(node) ?? '') === build.spec.machineConfig.name
  );
}

export function updateLine(pool: MachineConfigPool, { config }: Layering): string {
  const line = `MachineConfig ${pool.spec.configuration?.name ?? ''}`;
  const image = config?.status?.currentImagePullSpec;
  return image ? `${line} / Image ${image}` : line;
}

/**
 * A build runs, has failed, or has an image that the pool does not roll out yet: then no node
 * counts as updated.
 *
 * @see MCO isLayeredPoolBuilding
 */
export function isBuildOpen({ config, build }: Layering): boolean {
  if (config === undefined || build === undefined) return false;
  const state = stateOf(build);
  if (state === 'Building' || state === 'Prepared' || state === 'Failed') return true;
  const built = build.status?.digestedImagePushSpec;
  return state === 'Succeeded' && !!built && built !== config.status?.currentImagePullSpec;
}

/**
 * Updating of a pool with a MachineOSConfig; undefined = as for any pool.
 *
 * @see MCO calculateStatus
 */
export function updatingOfLayered(
  pool: MachineConfigPool,
  layering: Layering,
  allUpdated: boolean,
): ConditionValue | undefined {
  const { config, build } = layering;
  if (config === undefined) return undefined;
  if (pool.spec.paused === true) return pausedWith(config, build);
  const before = pool.status?.conditions;
  if (DEGRADED_OTHERWISE.some((type) => isConditionTrue(before, type))) {
    return updating('False', 'Pool update paused due to degraded condition');
  }
  const mosc = `(mosc: ${config.metadata.name})`;
  if (build === undefined) {
    return updating('True', `Pool is waiting for a new OS image build to start ${mosc}`);
  }
  const mosb = `(mosb: ${build.metadata.name})`;
  switch (stateOf(build)) {
    case 'Building':
      return updating('True', `Pool is waiting for OS image build to complete ${mosb}`);
    case 'Prepared':
    case undefined:
      return updating('True', `Pool is waiting for OS image build to start ${mosb}`);
    case 'Failed':
      return updating('False', `Pool update stopped due to OS image build failure ${mosb}`);
    case 'Interrupted':
      return updating(
        'False',
        `Pool update stopped due to OS image build being interrupted ${mosb}`,
      );
    case 'Succeeded':
      return allUpdated
        ? undefined
        : updating('True', `Pool is waiting for nodes to apply OS image ${mosb}`);
  }
}

const DEGRADED_OTHERWISE = [
  PoolCondition.RENDER_DEGRADED,
  PoolCondition.NODE_DEGRADED,
  PoolCondition.PINNED_IMAGE_SETS_DEGRADED,
] as const;

function pausedWith(config: MachineOSConfig, build: MachineOSBuild | undefined): ConditionValue {
  const paused = (status: 'True' | 'False', what: string, name: string): ConditionValue =>
    updating(status, `Pool is paused; ${what} (${name})`);
  if (build === undefined) {
    const what = 'waiting for a new OS image build to start';
    return paused('True', what, `mosc: ${config.metadata.name}`);
  }
  const [status, what] = PAUSED[stateOf(build) ?? 'Initial'];
  return paused(status, `OS image build ${what}`, `mosb: ${build.metadata.name}`);
}

const PAUSED = {
  Initial: ['True', 'has been created but not yet started'],
  Prepared: ['True', 'has been prepared but will not rollout'],
  Building: ['True', 'in progress'],
  Failed: ['False', 'failed'],
  Interrupted: ['False', 'was interrupted'],
  Succeeded: ['False', 'completed successfully'],
} as const;

/**
 * The cleared ImageBuildDegraded, which the builder sets; undefined = it stays.
 *
 * @see MCO calculateStatus
 */
export function buildDegradedCleared(
  before: readonly Condition[] | undefined,
  { config, build }: Layering,
): ConditionValue | undefined {
  const cleared = (reason: string, message: string): ConditionValue => ({
    type: PoolCondition.IMAGE_BUILD_DEGRADED,
    status: 'False',
    reason,
    message,
  });
  if (build !== undefined) {
    const state = stateOf(build);
    if (state === 'Succeeded') return cleared('BuildSuccess', 'Build completed successfully');
    const isActive = state === 'Building' || state === 'Prepared';
    return isActive ? cleared('Building', 'New build started') : undefined;
  }
  if (!isConditionTrue(before, PoolCondition.IMAGE_BUILD_DEGRADED)) return undefined;
  return config === undefined
    ? cleared(
        'NoLayeredObjects',
        'No layered pool objects found, clearing stale build degraded condition',
      )
    : cleared('BuildPending', 'MachineOSConfig updated/created, waiting for MachineOSBuild');
}

function updating(status: 'True' | 'False', message: string): ConditionValue {
  return { type: PoolCondition.UPDATING, status, message };
}

const BUILD_STATES = ['Building', 'Prepared', 'Failed', 'Interrupted', 'Succeeded'] as const;

/** Undefined = it has not begun. */
function stateOf({ status }: MachineOSBuild): (typeof BUILD_STATES)[number] | undefined {
  const conditions = status?.conditions ?? [];
  return BUILD_STATES.find((state) =>
    conditions.some((condition) => condition.type === state && condition.status === 'True'),
  );
}
