/** ContainerRuntimeConfig, as in `machineconfiguration.openshift.io/v1`. */

import type { LabelSelector, ObjectMeta } from '../object-meta';

export interface ContainerRuntimeConfig {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly machineConfigPoolSelector?: LabelSelector;
    readonly containerRuntimeConfig?: ContainerRuntimeConfiguration;
  };
}

export interface ContainerRuntimeConfiguration {
  /** Most processes in a container; 0 = no limit. */
  readonly pidsLimit?: number;
  readonly logLevel?: string;
  /** Quantity: most bytes of a container's log; negative = no limit, 0 = not set. */
  readonly logSizeMax?: string | number;
  /** Quantity: most bytes of a container's writable layer; 0 = not set. */
  readonly overlaySize?: string | number;
  /** `crun` or `runc`; empty = not set. */
  readonly defaultRuntime?: string;
  readonly additionalLayerStores?: readonly Store[];
  readonly additionalImageStores?: readonly Store[];
  readonly additionalArtifactStores?: readonly Store[];
}

export interface Store {
  readonly path: string;
}

export interface RuntimeGates {
  /** Feature gate AdditionalStorageConfig: without it the additional stores are not written. */
  readonly additionalStorage: boolean;
}

/** The pool that a config is made for. */
export interface TargetPool {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}
