/** The rule that decides what a change costs. */

import { closestFilePolicy, MACHINE_CONFIGURATION, type DisruptionAction } from '../disruption';
import type { DisruptionPolicies } from '../disruption';
import type { DecidingRule } from './plan-types';

export interface Decision {
  readonly cost: readonly DisruptionAction[];
  readonly rule: DecidingRule;
}

const REBOOT: readonly DisruptionAction[] = [{ type: 'Reboot' }];
const UNCOVERED: Decision = { cost: REBOOT, rule: { from: 'NoPolicy' } };

/** Of the operating system, whatever the policies say. */
export const AT_BOOT: Decision = { cost: REBOOT, rule: { from: 'BootOnly' } };

export function decisionForFile(path: string, { files }: DisruptionPolicies): Decision {
  const policy = closestFilePolicy(path, files);
  return policy === undefined ? UNCOVERED : decisionOf(policy, policy.path);
}

export function decisionForUnit(name: string, { units }: DisruptionPolicies): Decision {
  const policy = units.find((one) => one.name === name);
  return policy === undefined ? UNCOVERED : decisionOf(policy, name);
}

/** Of SSH keys and passwords. */
export function decisionForUsers({ sshkey }: DisruptionPolicies): Decision {
  return decisionOf(sshkey, 'sshkey');
}

function decisionOf({ actions, field }: DisruptionPolicies['sshkey'], covers: string): Decision {
  const rule: DecidingRule =
    field === undefined
      ? { from: 'Default', covers }
      : { from: 'MachineConfiguration', field, covers };
  return { cost: actions, rule };
}

/**
 * `MachineConfiguration cluster, files[1]: /etc/chrony.conf`, `default of the cluster: sshkey`, …
 */
export function ruleText(rule: DecidingRule): string {
  switch (rule.from) {
    case 'MachineConfiguration':
      return `MachineConfiguration ${MACHINE_CONFIGURATION}, ${placeText(rule)}`;
    case 'Default':
      return `default of the cluster: ${rule.covers}`;
    case 'NoPolicy':
      return 'no disruption policy covers it';
    case 'BootOnly':
      return 'it takes effect at a boot only';
  }
}

/** Policies are read from the status while the spec is wrong. */
function placeText({ field, covers }: { readonly field: string; readonly covers: string }): string {
  const [place = field] = /(files|units)\[\d+\]$|sshkey$/.exec(field) ?? [];
  const whole = field.startsWith('status.') ? `${place} of its status` : place;
  return place === covers ? whole : `${whole}: ${covers}`;
}
