/** What an update of a node is started with. Everything is plain JSON. */

import type { NodeDisruptionPolicy } from '../../core/disruption/types';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { ConfigReference } from '../host-contracts';

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
  /** An earlier update may have left something half done on the host. */
  readonly isAfterLost: boolean;
  /** The node goes back to what it was on: neither a person's hold nor another config ends it. */
  readonly takesBack?: true;
}

/** Kept with the workflow, so that a list of open updates shows it. */
export interface NodeUpdateMemo {
  readonly uid: string;
  readonly takesBack?: true;
}
