/** Disruption actions and their policies (NodeDisruptionPolicy of openshift/api). */

/**
 * `Special` is the cost of `registries.conf`: CRI-O is reloaded, and the node is drained first
 * unless the change is harmless (`./registries-conf`).
 */
export type DisruptionAction =
  | { readonly type: 'None' | 'Special' | 'DaemonReload' | 'Drain' | 'Reboot' }
  | { readonly type: 'Reload'; readonly reload: { readonly serviceName: string } }
  | { readonly type: 'Restart'; readonly restart: { readonly serviceName: string } };

export type DisruptionActionType = DisruptionAction['type'];

/** The actions for one file, or for everything below one directory. */
export interface FilePolicy {
  readonly path: string;
  readonly actions: readonly DisruptionAction[];
}

export interface UnitPolicy {
  readonly name: string;
  readonly actions: readonly DisruptionAction[];
}

/** Policies of a person; missing parts keep their defaults. */
export interface NodeDisruptionPolicy {
  readonly files?: readonly FilePolicy[];
  readonly units?: readonly UnitPolicy[];
  readonly sshkey?: { readonly actions: readonly DisruptionAction[] };
}

export interface DisruptionPolicies {
  readonly files: readonly FilePolicy[];
  readonly units: readonly UnitPolicy[];
  readonly sshkey: { readonly actions: readonly DisruptionAction[] };
}
