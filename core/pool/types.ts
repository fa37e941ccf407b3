/** MachineConfigPool and RolloutPolicy. */

import type { Condition, LabelSelector, ObjectMeta } from '../object-meta';

export interface MachineConfigPool {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly machineConfigSelector?: LabelSelector;
    readonly nodeSelector?: LabelSelector;
    readonly paused?: boolean;
    /** An integer, or a percentage such as `25%`; absent = 1. */
    readonly maxUnavailable?: number | string;
    readonly configuration?: PoolConfiguration;
    /** A stream of the OSImageStream `cluster`: `image-stream.ts`. */
    readonly osImageStream?: { readonly name?: string };
    /** By name: `core/pinned-images`. */
    readonly pinnedImageSets?: readonly { readonly name: string }[];
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly configuration?: PoolConfiguration;
    readonly machineCount?: number;
    readonly updatedMachineCount?: number;
    readonly readyMachineCount?: number;
    readonly unavailableMachineCount?: number;
    readonly degradedMachineCount?: number;
    readonly certExpirys?: readonly {
      readonly bundle: string;
      readonly subject: string;
      /** RFC 3339; null = unknown, as others may write it. */
      readonly expiry?: string | null;
    }[];
    /** `core/pinned-images`. */
    readonly poolSynchronizersStatus?: readonly PoolSynchronizer[];
    /** The stream of the OS image that all nodes have: `image-stream.ts`. */
    readonly osImageStream?: { readonly name?: string };
    readonly conditions?: readonly Condition[];
  };
}

/** How many nodes have what is brought to them beside the config. */
export interface PoolSynchronizer {
  readonly poolSynchronizerType: string;
  readonly machineCount: number;
  readonly updatedMachineCount: number;
  readonly readyMachineCount: number;
  readonly availableMachineCount: number;
  readonly unavailableMachineCount: number;
}

/** A rendered config by name, and its MachineConfigs, sorted by name. */
export interface PoolConfiguration {
  readonly name?: string;
  readonly source?: readonly {
    readonly name?: string;
    readonly apiVersion?: string;
    readonly kind?: string;
  }[];
}

/**
 * How a pool rolls (`slipway.dev/v1alpha1`, cluster-scoped, named after its pool), as a person
 * writes it: every field may be missing. `core/rollout/policy.ts` fills the defaults.
 */
export interface RolloutPolicySpec {
  readonly trigger?: 'Automatic' | 'Manual';
  readonly canary?: { readonly nodes?: number };
  /** At this many failed nodes the rollout starts no other: an integer or a percentage. */
  readonly failureThreshold?: number | string;
  readonly drain?: {
    readonly timeoutSeconds?: number;
    readonly gracePeriodSeconds?: number;
    readonly skipWaitForDeleteTimeoutSeconds?: number;
    readonly onTimeout?: 'RetryLater' | 'Fail';
  };
  readonly reboot?: { readonly timeoutSeconds?: number };
  /** Nodes prepared ahead of their grant; absent = as many as maxUnavailable. */
  readonly prepareAhead?: number;
  readonly verify?: { readonly readySeconds?: number; readonly reconnectSeconds?: number };
  readonly drift?: 'Report' | 'Repair';
  /** A path is rewritten so often within the interval; further drift is only reported. */
  readonly repair?: { readonly limit?: number; readonly intervalSeconds?: number };
}

export interface RolloutPolicy {
  readonly metadata: ObjectMeta;
  readonly spec?: RolloutPolicySpec;
}

/** A policy with all defaults, for workflows and activities. */
export interface ResolvedPolicy {
  readonly trigger: 'Automatic' | 'Manual';
  readonly canaryNodes: number;
  readonly failureThreshold: number | string;
  readonly drain: {
    readonly timeoutSeconds: number;
    /** Absent = each pod's own. */
    readonly gracePeriodSeconds?: number;
    /** Absent = wait for every pod. */
    readonly skipWaitForDeleteTimeoutSeconds?: number;
    readonly onTimeout: 'RetryLater' | 'Fail';
  };
  readonly rebootTimeoutSeconds: number;
  /** Absent = as many as maxUnavailable. */
  readonly prepareAhead?: number;
  readonly readySeconds: number;
  readonly reconnectSeconds: number;
}
