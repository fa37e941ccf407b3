/**
 * The plan of one node update: what changes, what each change costs and why, and the phases that
 * follow from it. Plain JSON without any file content and without the value of any kernel argument, so
 * that it may appear in a workflow history.
 */

import type { DisruptionAction } from '../disruption/types';

/** The phases of a node update, in the order in which they run. */
export type PlanPhaseName =
  | 'Prepare'
  | 'Cordon'
  | 'Drain'
  | 'ApplyFiles'
  | 'ApplyOS'
  | 'ReloadServices'
  | 'Reboot'
  | 'Verify'
  | 'Uncordon';

/** A phase that this update needs, and the reason in a few words. */
export interface PlanPhase {
  readonly phase: PlanPhaseName;
  readonly reason: string;
}

/** One change: `what` names it without its content, `why` is the rule that sets its cost. */
export interface PlannedChange {
  readonly part: 'OS' | 'File' | 'Unit' | 'User';
  /** `file /etc/foo changed`, `unit a.service removed`, `kernel arguments changed (+nosmt)`, … */
  readonly what: string;
  readonly cost: readonly DisruptionAction[];
  readonly why: string;
}

/** Whether the difference can be applied to a running machine. */
export type PlanVerdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

/** Names that are new or different, and names that go away; each list sorted. */
export interface ChangedNames {
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** What one node update does. Every list is in a fixed order: equal inputs give equal plans. */
export interface UpdatePlan {
  readonly reconcilable: PlanVerdict;
  /** Paths on the host. */
  readonly files: ChangedNames;
  /** systemd unit names. */
  readonly units: ChangedNames;
  readonly sshKeysChanged: boolean;
  readonly passwordChanged: boolean;
  /** Single arguments, split as on a kernel command line, without their values: `nosmt`, `audit=…`. */
  readonly kernelArguments: { readonly add: readonly string[]; readonly remove: readonly string[] };
  /** Extension names as in the MachineConfig, not package names. */
  readonly extensions: {
    readonly install: readonly string[];
    readonly uninstall: readonly string[];
  };
  /** Absent = the OS image stays. `from` is absent when it is not known. */
  readonly osImage?: { readonly from?: string; readonly to: string };
  /** Absent = the kernel stays. */
  readonly kernelType?: { readonly from: string; readonly to: string };
  readonly changes: readonly PlannedChange[];
  /** What runs after the files are in place, each once, in the order in which it runs. */
  readonly actions: readonly DisruptionAction[];
  readonly drain: boolean;
  readonly reboot: boolean;
  readonly phases: readonly PlanPhase[];
  /** One sentence for a person: `reboot: kernel arguments changed (+nosmt)`. */
  readonly summary: string;
}

/** Everything about a plan that does not depend on costs. */
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

/** Whether the update has this phase. */
export function hasPhase(plan: UpdatePlan, phase: PlanPhaseName): boolean {
  return plan.phases.some((planned) => planned.phase === phase);
}
