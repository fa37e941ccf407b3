/** What an update of a node is started with. Everything is plain JSON. */

import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { ConfigReference } from './host';

/**
 * `whole`: nothing is half done. `left`: an earlier update has left the node out of service, and has said why. `lost`:
 * an earlier update has begun, and nobody has heard how it ended.
 */
export type FoundNode = 'whole' | 'left' | 'lost';

/** Input of `updateNode`. A step of the rollout starts it. */
export interface NodeUpdateInput {
  readonly node: string;
  /** Of the Node: a later one of the same name is another node. */
  readonly uid: string;
  readonly pool: string;
  readonly config: ConfigReference;
  /** Absent = none was ever verified, or it is gone. */
  readonly currentConfig?: ConfigReference;
  readonly policy: ResolvedPolicy;
  readonly disruptionPolicies: NodeDisruptionPolicy;
  readonly found: FoundNode;
  /** The node goes back to what it was on: neither a person's hold nor another config ends it. */
  readonly takesBack?: true;
}

/** Kept with the workflow, so that a list of open updates shows it. */
export interface NodeUpdateMemo {
  readonly uid: string;
  readonly takesBack?: true;
}
