/**
 * The plan of one node update: changes, costs with their rules, and phases. Plain JSON without file
 * contents and values of kernel arguments, so that it may appear in a workflow history.
 */

import type { DisruptionAction } from '../disruption/types';

/** In the order in which they run. */
type PlanPhaseName =
  | 'Prepare'
  | 'Cordon'
  | 'Drain'
  | 'ApplyFiles'
  | 'ApplyOS'
  | 'ReloadServices'
  | 'Reboot'
  | 'Verify'
  | 'Uncordon';

export interface PlanPhase {
  readonly phase: PlanPhaseName;
  readonly reason: string;
}

/** `what` names the change without its content; `why` names the rule that sets its cost. */
export interface PlannedChange {
  readonly part: 'OS' | 'File' | 'Unit' | 'User';
  /** `file /etc/foo changed`, `unit a.service removed`, `kernel arguments changed (+nosmt)`, … */
  readonly what: string;
  readonly cost: readonly DisruptionAction[];
  readonly why: string;
  /** Absent in the plan of a host, which has to fit into a history. */
  readonly rule?: DecidingRule;
}

/** `covers` is the path, the name of the unit, or `sshkey`; `field` is of the MachineConfiguration. */
export type DecidingRule =
  | { readonly from: 'MachineConfiguration'; readonly field: string; readonly covers: string }
  | { readonly from: 'Default'; readonly covers: string }
  /** No policy covers the change. */
  | { readonly from: 'NoPolicy' }
  /** No policy can cover the change. */
  | { readonly from: 'BootOnly' };

export type PlanVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Names that are new or different, and removed names; each list sorted. */
export interface ChangedNames {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Every list is in a fixed order: equal inputs give equal plans. */
export interface UpdatePlan {
  readonly reconcilable: PlanVerdict;
  readonly files: ChangedNames;
  readonly units: ChangedNames;
  readonly sshKeysChanged: boolean;
  readonly passwordChanged: boolean;
  /**
   * Single arguments, split as on a kernel command line, without their values: `nosmt`, `audit=…`.
   */
  readonly kernelArguments: { readonly add: readonly string[]; readonly remove: readonly string[] };
  /** Extension names as in the MachineConfig, not package names. */
  readonly extensions: {
    readonly install: readonly string[];
    readonly uninstall: readonly string[];
  };
  /** Absent = the OS image stays. `from` is absent when it is unknown. */
  readonly osImage?: { readonly from?: string; readonly to: string };
  /** Absent = the kernel stays. */
  readonly kernelType?: { readonly from: string; readonly to: string };
  readonly changes: readonly PlannedChange[];
  /** Runs after the files are written, each once, in this order. */
  readonly actions: readonly DisruptionAction[];
  readonly drain: boolean;
  readonly reboot: boolean;
  readonly phases: readonly PlanPhase[];
  /** One sentence for a person: `reboot: kernel arguments changed (+nosmt)`. */
  readonly summary: string;
}

export type PlanFacts = Pick<
  UpdatePlan,
  | 'files'
  | 'units'
  | 'sshKeysChanged'
  | 'passwordChanged'
  | 'kernelArguments'
  | 'extensions'
  | 'osImage'
  | 'kernelType'
>;
