/** The Node and MachineConfigNode fields that the domain reads. */

import type { DriftFinding, DriftRepair } from '../drift/report';
import type { Condition, ObjectMeta } from '../object-meta';

/** The fields that one client has written, by name, each with `f:` before it. */
export interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: { readonly 'f:spec'?: { readonly 'f:unschedulable'?: object } };
}

/** Other fields pass through. */
export interface NodeTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Node {
  readonly metadata: ObjectMeta & { readonly managedFields?: readonly ManagedFields[] };
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly NodeTaint[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly lastTransitionTime?: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
    readonly nodeInfo?: { readonly bootID?: string; readonly osImage?: string };
  };
}

/** The status of the update of one node, with the node's name. */
export interface MachineConfigNode {
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly node: { readonly name: string };
    readonly pool: { readonly name: string };
    readonly configVersion: { readonly desired: string };
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly configVersion?: { readonly current?: string; readonly desired?: string };
    readonly drift?: MachineConfigNodeDrift;
    /** From the host's last report. Written by the server. */
    readonly hostWorker?: { readonly version: string };
  };
}

/** The host's last report of its drift; absent = it never drifted. Written by the server. */
export interface MachineConfigNodeDrift {
  readonly config: string;
  readonly count: number;
  readonly findings: readonly DriftFinding[];
  readonly repairs: readonly DriftRepair[];
  readonly forced: boolean;
  readonly unrepaired?: string;
}
