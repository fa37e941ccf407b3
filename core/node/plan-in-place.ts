import type { DisruptionAction } from '../disruption/types';
import type { UpdatePlan } from './plan-types';

/**
 * For a reader of the journal, of a change that is no update: the paths, and the actions after an
 * undo. Without drain and reboot.
 */
export function planInPlace(change: {
  readonly files: readonly string[];
  readonly units?: readonly string[];
  readonly actions: readonly DisruptionAction[];
  readonly summary: string;
}): UpdatePlan {
  const { files, units = [], actions, summary } = change;
  return {
    reconcilable: { ok: true },
    files: { changed: files, removed: [] },
    units: { changed: units, removed: [] },
    sshKeysChanged: false,
    passwordChanged: false,
    kernelArguments: { add: [], remove: [] },
    extensions: { install: [], uninstall: [] },
    changes: [],
    actions,
    drain: false,
    reboot: false,
    phases: [],
    summary,
  };
}
