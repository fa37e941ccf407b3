/** Disruption actions and their policies (NodeDisruptionPolicy of openshift/api). */

import type { ObjectMeta } from '../object-meta';

/**
 * `Special` is the cost of `registries.conf`: CRI-O is reloaded, and the node is drained first
 * unless the change is harmless (`./registries-conf`).
 */
export type DisruptionAction =
  | { readonly type: 'None' | 'Special' | 'DaemonReload' | 'Drain' | 'Reboot' }
  | { readonly type: 'Reload'; readonly reload: { readonly serviceName: string } }
  | { readonly type: 'Restart'; readonly restart: { readonly serviceName: string } };

export type DisruptionActionType = DisruptionAction['type'];

export interface ActionPolicy {
  readonly actions: readonly DisruptionAction[];
  /**
   * Where the MachineConfiguration says so: `spec.nodeDisruptionPolicy.files[1]`. Absent for a
   * default.
   */
  readonly field?: string;
}

/** The actions for one file, or for everything below one directory. */
export interface FilePolicy extends ActionPolicy {
  readonly path: string;
}

export interface UnitPolicy extends ActionPolicy {
  readonly name: string;
}

/** Policies of a person; missing parts keep their defaults. */
export interface NodeDisruptionPolicy {
  readonly files?: readonly FilePolicy[];
  readonly units?: readonly UnitPolicy[];
  readonly sshkey?: ActionPolicy;
}

export interface DisruptionPolicies {
  readonly files: readonly FilePolicy[];
  readonly units: readonly UnitPolicy[];
  readonly sshkey: ActionPolicy;
}

/** MachineConfiguration of `operator.openshift.io/v1`, as stored: `spec` and `status` are unchecked. */
export interface MachineConfiguration {
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}
