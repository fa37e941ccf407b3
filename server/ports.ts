/** What the server needs of the cluster: a look at nodes and pools, and rendered configs by name. */

import type { MachineConfig } from '../core/machine-config/types';
import type { Node } from '../core/node/types';
import type { MachineConfigPool } from '../core/pool/types';

/** A watch-fed picture: looking costs no request, and goes on while the API server is away. */
export interface ClusterView {
  node(name: string): Node | undefined;
  pools(): readonly MachineConfigPool[];
  /** What has never been seen completely yet; empty = ready. */
  missing(): readonly string[];
}

/** Reads one MachineConfig; undefined when there is none. @throws `ApiUnavailable` */
export type ReadMachineConfig = (name: string) => Promise<MachineConfig | undefined>;

/** Who is at the other end of a connection, by its verified client certificate. */
export interface PeerSubject {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
}
