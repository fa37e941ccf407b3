/**
 * The life of one node update: its phases, their transitions, and the MachineConfigNode in each.
 */

/** The last four are ends; a new update begins with `Preparing`. */
export const NodePhase = {
  PREPARING: 'Preparing',
  /** Until it is cordoned, where its plan drains. */
  WAITING_FOR_GRANT: 'WaitingForGrant',
  DRAINING: 'Draining',
  APPLYING: 'Applying',
  RELOADING: 'Reloading',
  REBOOTING: 'Rebooting',
  VERIFYING: 'Verifying',
  COMPLETING: 'Completing',
  GOING_BACK: 'GoingBack',
  UPDATED: 'Updated',
  DEGRADED: 'Degraded',
  CANCELLED: 'Cancelled',
  /** The Node was deleted meanwhile. */
  GONE: 'Gone',
} as const;
export type NodePhase = (typeof NodePhase)[keyof typeof NodePhase];

/** Histogram of how long each phase took, by pool and phase. */
export const PHASE_METRIC = 'slipway_node_phase_duration_seconds';

/**
 * Allowed next phases, from which the diagram in docs/ is drawn. `Gone` may follow every phase that
 * is no end.
 */
export const TRANSITIONS = {
  // A host that is on its config already waits for nothing.
  Preparing: ['WaitingForGrant', 'Completing', 'Degraded', 'Cancelled'],
  // A plan without a drain goes on to Applying.
  WaitingForGrant: ['Draining', 'Applying', 'Degraded', 'Cancelled'],
  // Pods that came after the drain leave before the reboot.
  Draining: ['Applying', 'Rebooting', 'GoingBack'],
  Applying: ['Draining', 'Reloading', 'Rebooting', 'Verifying', 'GoingBack'],
  Reloading: ['Verifying', 'GoingBack'],
  Rebooting: ['Verifying', 'GoingBack'],
  Verifying: ['Completing', 'GoingBack'],
  // Before its commit, a host that falls silent verifies itself again, and one that cannot commit
  // rolls back. After it, completing is retried until it succeeds; a permanent failure is shown on
  // the node.
  Completing: ['Verifying', 'GoingBack', 'Updated', 'Degraded'],
  // A host that committed before its answer was lost stays on its config.
  GoingBack: ['Completing', 'Degraded', 'Cancelled'],
  Updated: ['Preparing'],
  Degraded: ['Preparing'],
  Cancelled: ['Preparing'],
  // A node that comes back under the same name is another one.
  Gone: [],
} as const satisfies Record<NodePhase, readonly NodePhase[]>;

export function mayFollow(from: NodePhase, to: NodePhase): boolean {
  if (to === NodePhase.GONE) return !isEnd(from);
  const next: readonly NodePhase[] = TRANSITIONS[from];
  return next.includes(to);
}

export function isEnd(phase: NodePhase): boolean {
  return ENDS.includes(phase);
}

const ENDS: readonly NodePhase[] = [
  NodePhase.UPDATED,
  NodePhase.DEGRADED,
  NodePhase.CANCELLED,
  NodePhase.GONE,
];

/** Phases in which the node may be unavailable, so that it must have a grant. */
export function needsGrant(phase: NodePhase): boolean {
  return !isEnd(phase) && !WITHOUT_GRANT.includes(phase);
}

const WITHOUT_GRANT: readonly NodePhase[] = [NodePhase.PREPARING, NodePhase.WAITING_FOR_GRANT];
