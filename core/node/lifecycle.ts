/**
 * The life of one node update: its phases, which phase may follow which, and what the
 * MachineConfigNode says in each.
 */

/** Where a node update stands. The last four are ends; a new update begins with `Preparing`. */
export const NodePhase = {
  PREPARING: 'Preparing',
  WAITING_FOR_SLOT: 'WaitingForSlot',
  CORDONING: 'Cordoning',
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

/**
 * Allowed next phases. This table is the truth; the diagram in docs/ is drawn from it. What it leaves
 * out is `Gone`, which may follow every phase that is no end.
 */
export const TRANSITIONS = {
  // A host that is on its config already has nothing to wait for.
  Preparing: ['WaitingForSlot', 'Completing', 'Degraded', 'Cancelled'],
  // Nothing was disturbed yet: the staged deployment is dropped, and that is all. Only an update that
  // had to give a slot back may have written the node before, and takes that back.
  WaitingForSlot: ['Cordoning', 'GoingBack', 'Degraded', 'Cancelled'],
  // A plan without a drain targets the node and goes on.
  // Or the slot was good only while the node was unavailable, and it is back in service.
  Cordoning: ['WaitingForSlot', 'Draining', 'Applying', 'GoingBack'],
  // Pods that came after the drain leave before the reboot.
  Draining: ['Applying', 'Rebooting', 'GoingBack'],
  Applying: ['Draining', 'Reloading', 'Rebooting', 'Verifying', 'GoingBack'],
  Reloading: ['Verifying', 'GoingBack'],
  Rebooting: ['Verifying', 'GoingBack'],
  Verifying: ['Completing', 'GoingBack'],
  // The host commits, and until it has, it is not decided. One that falls silent proves itself once more, and its node is
  // watched for longer; one that cannot commit goes back. After that it is retried until it holds, as there is nothing
  // to go back from. What cannot be completed for good is said on the node.
  Completing: ['Verifying', 'GoingBack', 'Updated', 'Degraded'],
  // A host that has committed, and whose answer was lost, stays on its config.
  GoingBack: ['Completing', 'Degraded', 'Cancelled'],
  Updated: ['Preparing'],
  Degraded: ['Preparing'],
  Cancelled: ['Preparing'],
  // A node that comes back under the same name is another one.
  Gone: [],
} as const satisfies Record<NodePhase, readonly NodePhase[]>;

/** Whether one phase may follow the other. */
export function mayFollow(from: NodePhase, to: NodePhase): boolean {
  if (to === NodePhase.GONE) return !isEnd(from);
  const next: readonly NodePhase[] = TRANSITIONS[from];
  return next.includes(to);
}

/**
 * The first step of a life that the table does not know, as `from -> to`; undefined = all are known.
 * The same phase twice in a row is one phase.
 */
export function forbiddenStep(phases: readonly NodePhase[]): string | undefined {
  const at = phases.findIndex((to, index) => {
    const from = phases[index - 1];
    return from !== undefined && from !== to && !mayFollow(from, to);
  });
  return at < 0 ? undefined : `${phases[at - 1]} -> ${phases[at]}`;
}

/** Whether an update that is in this phase has ended. */
export function isEnd(phase: NodePhase): boolean {
  return ENDS.includes(phase);
}

const ENDS: readonly NodePhase[] = [
  NodePhase.UPDATED,
  NodePhase.DEGRADED,
  NodePhase.CANCELLED,
  NodePhase.GONE,
];

/** Phases in which the node may be unavailable, so that it must hold a slot. */
export function needsSlot(phase: NodePhase): boolean {
  return !isEnd(phase) && !WITHOUT_SLOT.includes(phase);
}

const WITHOUT_SLOT: readonly NodePhase[] = [NodePhase.PREPARING, NodePhase.WAITING_FOR_SLOT];
