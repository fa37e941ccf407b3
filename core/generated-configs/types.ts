/**
 * Objects from which a controller generates MachineConfigs: KubeletConfig and
 * ContainerRuntimeConfig. Both select pools, get a number, and report in the same way.
 */

import type { MachineConfig, MachineConfigSpec } from '../machine-config/types';
import type { LabelSelector, ObjectMeta } from '../object-meta';
import type { MachineConfigPool } from '../pool/types';

/** Such an object. Its own fields are its kind's. */
export interface Origin {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly machineConfigPoolSelector?: LabelSelector | undefined };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly OriginCondition[];
  };
}

/** `lastTransitionTime` is RFC 3339. A type may occur several times: the list is a history. */
export interface OriginCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export interface OriginKind {
  readonly kind: 'KubeletConfig' | 'ContainerRuntimeConfig';
  /** Last word of the names of its MachineConfigs. */
  readonly word: 'kubelet' | 'containerruntime';
  /** Ten for a pool, as in MCO. */
  readonly tooMany: string;
  /** Before a problem of the name, in the condition. */
  readonly nameProblem: string;
  readonly noPool: (name: string) => string;
  /** The newest outcomes as a history; the older types then stand last, and only for the newest. */
  readonly hasAccepted: boolean;
}

export const KUBELET_CONFIG: OriginKind = {
  kind: 'KubeletConfig',
  word: 'kubelet',
  tooMany:
    'max number of supported kubelet config (10) has been reached. Please delete old kubelet configs before retrying',
  nameProblem: 'could not get kubelet config key',
  noPool: () => 'could not find any MachineConfigPool set for KubeletConfig',
  hasAccepted: true,
};

export const CONTAINER_RUNTIME_CONFIG: OriginKind = {
  kind: 'ContainerRuntimeConfig',
  word: 'containerruntime',
  tooMany:
    'max number of supported ctrcfgs (10) has been reached. Please delete old ctrcfgs before retrying',
  nameProblem: 'could not get ctrcfg key',
  noPool: (name) => `could not find any MachineConfigPool set for ContainerRuntimeConfig ${name}`,
  hasAccepted: false,
};

/** The pool as far as names and selection need it. */
export interface SelectedPool {
  readonly metadata: Pick<ObjectMeta, 'name' | 'uid' | 'labels'>;
}

/** What a sync reads of a MachineConfig. */
export interface KnownConfig {
  readonly metadata: ObjectMeta;
  readonly spec: MachineConfigSpec;
}

/** What a look at all objects of a kind sees. */
export interface OriginPicture {
  readonly origins: readonly Origin[];
  readonly pools: readonly MachineConfigPool[];
  readonly machineConfigs: {
    get(name: string): MachineConfig | undefined;
    list(): readonly MachineConfig[];
  };
  /** Of the controllers, on what they generate. */
  readonly version: string;
  /** RFC 3339. */
  readonly now: string;
  readonly gunzip: (bytes: Uint8Array) => Uint8Array;
}
