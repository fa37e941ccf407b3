import type { MachineConfig } from '../core/machine-config/types';
import type { MachineConfiguration } from '../core/disruption/types';
import type { DriftStatus } from '../core/drift';
import type { MachineConfigNode, Node } from '../core/node/types';
import type { Condition } from '../core/object-meta';
import type { PinnedImageSet } from '../core/pinned-images';
import type { MachineConfigPool, RolloutPolicy } from '../core/pool/types';

/** Fed by watches: reading works while the API server is away. */
export interface ClusterView {
  node(name: string): Node | undefined;
  nodes(): readonly Node[];
  pools(): readonly MachineConfigPool[];
  machineConfigNode(name: string): MachineConfigNode | undefined;
  /** Nodes that an update may take out of service by now, whether it has or not. */
  granted(pool: string): readonly string[];
  /** Undefined = the defaults. */
  policy(pool: string): RolloutPolicy | undefined;
  /** Undefined = there is none, or the cluster does not know the kind. */
  machineConfiguration(): MachineConfiguration | undefined;
  /** None where the cluster does not know the kind. */
  pinnedImageSets(): readonly PinnedImageSet[];
  /** Kinds that have never been listed completely. */
  missing(): readonly string[];
  /**
   * Tells of a node that may be in another pool; undefined = any node. Returns a function that
   * stops.
   */
  onMoved(listener: (node?: string) => void): () => void;
}

/** Undefined when there is none. @throws `ApiUnavailable` */
export type ReadMachineConfig = (name: string) => Promise<MachineConfig | undefined>;

/** Undefined when there is none. @throws `ApiUnavailable` */
export type ReadNode = (name: string) => Promise<Node | undefined>;

/** @throws `ApiUnavailable` */
export type ReadPools = () => Promise<readonly MachineConfigPool[]>;

/**
 * The drift conditions and list of a MachineConfigNode, and nothing else of it.
 *
 * @throws `ApiUnavailable`, `ObjectNotFound`
 */
export type WriteDrift = (node: string, status: DriftStatus) => Promise<MachineConfigNode>;

/**
 * All conditions of one writer on a MachineConfigNode, and nothing else of it.
 *
 * @throws `ApiUnavailable`, `ObjectNotFound`
 */
export type WriteConditions = (
  node: string,
  conditions: readonly Condition[],
) => Promise<MachineConfigNode>;

/** Of the verified client certificate. */
export interface PeerSubject {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
}
