import type { ClusterCode } from './planted-code';

/** Bugs that are put into the model on purpose, to do what a product with that bug would do. */
export interface Switches {
  /** A host forgets that it has armed a reboot, so an order that comes again reboots it again. */
  readonly forgetsArming?: boolean;
  /** A host commits what it has verified itself, without waiting for its node to be Ready. */
  readonly believesItself?: boolean;
  /** A host that goes back leaves the new files where they are. */
  readonly skipsUndo?: boolean;
  /** A host that starts boots back for an order that failed before it asked for that. */
  readonly bootsBackUnasked?: boolean;
  /** A host forgets that an update has failed on it, once that is lost. */
  readonly forgetsFailures?: boolean;
  /** The status of every pool counts the nodes of all pools. */
  readonly statusOfAllNodes?: boolean;
  /** Nobody takes the taint of a node that will be drained away again. */
  readonly leavesTaints?: boolean;
  /** The drain waits for its time to be over, whoever has left. */
  readonly drainsOn?: boolean;
  /** A PoolRollout is written whatever its version is. */
  readonly writesOverOthers?: boolean;
}

/** Bugs that are put into what hosts and cluster workers do, to see that they are found. */
export interface ActivityPlants extends Switches {
  /** What cluster workers run; absent = what is shipped. */
  readonly code?: ClusterCode;
}
