/** Ports of the server to the cluster. */

import type { MachineConfig } from '../core/machine-config/types';
import type { DriftStatus } from '../core/drift';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';

/** A cache fed by watches: reading costs no request and works while the API server is away. */
export interface ClusterView {
  node(name: string): Node | undefined;
  nodes(): readonly Node[];
  pools(): readonly MachineConfigPool[];
  machineConfigNode(name: string): MachineConfigNode | undefined;
  /** The policy of a pool; undefined = the defaults. */
  policy(pool: string): RolloutPolicy | undefined;
  /** `spec.nodeDisruptionPolicy` of the cluster's MachineConfiguration, unchecked. */
  disruptionPolicy(): unknown;
  /** Kinds that have never been listed completely; empty = ready. */
  missing(): readonly string[];
}

/** Undefined when there is none. @throws `ApiUnavailable` */
export type ReadMachineConfig = (name: string) => Promise<MachineConfig | undefined>;

/** Reads the Node from the API; undefined when there is none. @throws `ApiUnavailable` */
export type ReadNode = (name: string) => Promise<Node | undefined>;

/** Reads every pool from the API. @throws `ApiUnavailable` */
export type ReadPools = () => Promise<readonly MachineConfigPool[]>;

/**
 * Writes the drift conditions and the drift list of a MachineConfigNode, and nothing else of it.
 *
 * @throws `ApiUnavailable`, `ObjectNotFound`
 */
export type WriteDrift = (node: string, status: DriftStatus) => Promise<MachineConfigNode>;

/** The peer of a connection, from its verified client certificate. */
export interface PeerSubject {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
}
