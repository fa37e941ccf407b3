/** Bugs that are put into the activities on purpose, to see that they are found. */
export interface ActivityPlants {
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
  /** Whoever gives a node back uncordons it, whoever cordoned it. */
  readonly liftsAnyCordon?: boolean;
  /** A percentage is taken of the nodes of all pools. */
  readonly countsAllNodes?: boolean;
  /** A node that was moved is cordoned for the pool that it has left. */
  readonly overlooksMoves?: boolean;
  /** Which slot it is that a node uses counts for nothing at its cordon. */
  readonly overlooksNumbers?: boolean;
  /** A node that is down by itself is taken for one that an update has left so. */
  readonly takesDownForLeft?: boolean;
  /** A node that serves although an update has begun on it is taken for one that is out of service. */
  readonly takesServingForLeft?: boolean;
  /** The status of every pool counts the nodes of all pools. */
  readonly statusOfAllNodes?: boolean;
  /** A step writes the Node although it is not the turn of its run. */
  readonly overlooksRuns?: boolean;
  /** An attempt that was given up goes on to write what a person said. */
  readonly believesAwaited?: boolean;
  /** Nobody takes the taint of a node that will be drained away again. */
  readonly leavesTaints?: boolean;
  /** The drain waits for its time to be over, whoever has left. */
  readonly drainsOn?: boolean;
}
