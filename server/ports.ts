/**
 * What the server needs of the cluster: a look at nodes, pools and policies, rendered configs by name,
 * and a place to write down what hosts report.
 */

import type { MachineConfig } from '../core/machine-config/types';
import type { DriftStatus } from '../core/drift';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';

/** A watch-fed picture: looking costs no request, and goes on while the API server is away. */
export interface ClusterView {
  node(name: string): Node | undefined;
  nodes(): readonly Node[];
  pools(): readonly MachineConfigPool[];
  machineConfigNode(name: string): MachineConfigNode | undefined;
  /** The policy of a pool; undefined = the defaults. */
  policy(pool: string): RolloutPolicy | undefined;
  /** `spec.nodeDisruptionPolicy` of the cluster's MachineConfiguration, unchecked. */
  disruptionPolicy(): unknown;
  /** What has never been seen completely yet; empty = ready. */
  missing(): readonly string[];
}

/** Reads one MachineConfig; undefined when there is none. @throws `ApiUnavailable` */
export type ReadMachineConfig = (name: string) => Promise<MachineConfig | undefined>;

/** Reads one Node as it is now; undefined when there is none. @throws `ApiUnavailable` */
export type ReadNode = (name: string) => Promise<Node | undefined>;

/** Reads every pool as it is now. @throws `ApiUnavailable` */
export type ReadPools = () => Promise<readonly MachineConfigPool[]>;

/**
 * Writes the conditions that a host's report makes and the list of drift on a MachineConfigNode, and nothing else of it.
 *
 * @throws `ApiUnavailable`, `ObjectNotFound`
 */
export type WriteDrift = (node: string, status: DriftStatus) => Promise<MachineConfigNode>;

/** Who is at the other end of a connection, by its verified client certificate. */
export interface PeerSubject {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
}
