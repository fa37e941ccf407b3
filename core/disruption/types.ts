/** Disruption actions and the policies that choose them (NodeDisruptionPolicy of openshift/api). */

/**
 * What a change costs the node. `Special` is the price of `registries.conf`: CRI-O is reloaded, and
 * the node is drained first unless the change is harmless (`./registries-conf`).
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

/** The actions for one systemd unit, by exact name. */
export interface UnitPolicy {
  readonly name: string;
  readonly actions: readonly DisruptionAction[];
}

/** Policies as a person writes them; whatever is missing keeps its default. */
export interface NodeDisruptionPolicy {
  readonly files?: readonly FilePolicy[];
  readonly units?: readonly UnitPolicy[];
  readonly sshkey?: { readonly actions: readonly DisruptionAction[] };
}

/** The defaults and the user's policies, merged: what a change is looked up in. */
export interface DisruptionPolicies {
  readonly files: readonly FilePolicy[];
  readonly units: readonly UnitPolicy[];
  readonly sshkey: { readonly actions: readonly DisruptionAction[] };
}
