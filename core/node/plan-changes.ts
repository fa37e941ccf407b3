/** The changes of an update, each with its cost and the rule behind it. */

import {
  hasAction,
  runnableActions,
  type DisruptionPolicies,
  type DrainDecision,
} from '../disruption';
import type { MachineConfigDiff } from '../machine-config/diff';
import {
  AT_BOOT,
  decisionForFile,
  decisionForUnit,
  decisionForUsers,
  ruleText,
  type Decision,
} from './plan-rules';
import type { ChangedNames, PlanFacts, PlannedChange } from './plan-types';

interface ChangesInput {
  readonly facts: PlanFacts;
  readonly diff: MachineConfigDiff;
  readonly policies: DisruptionPolicies;
  readonly drain: DrainDecision;
}

/** Every change; those that take effect only at boot come first. */
export function plannedChanges(input: ChangesInput): readonly PlannedChange[] {
  const { facts } = input;
  return [
    ...osChanges(input),
    ...verbs(facts.files).map(({ name, verb }) => fileChange(name, verb, input)),
    ...verbs(facts.units).map(({ name, verb }) => unitChange(name, verb, input.policies)),
    ...userChanges(input),
  ];
}

function verbs(names: ChangedNames): readonly { readonly name: string; readonly verb: string }[] {
  return [
    ...names.changed.map((name) => ({ name, verb: 'changed' })),
    ...names.removed.map((name) => ({ name, verb: 'removed' })),
  ];
}

function osChanges({ facts, diff }: ChangesInput): readonly PlannedChange[] {
  const { osImage, kernelType, kernelArguments, extensions } = facts;
  const boots = (what: string): PlannedChange => changeOf('OS', what, AT_BOOT);
  return [
    ...(osImage === undefined ? [] : [boots(`OS image changed (to ${shortImage(osImage.to)})`)]),
    ...(diff.kargs
      ? [boots(listText('kernel arguments', kernelArguments.add, kernelArguments.remove))]
      : []),
    ...(kernelType === undefined
      ? []
      : [boots(`kernel changed (${kernelType.from} to ${kernelType.to})`)]),
    ...(diff.extensions
      ? [boots(listText('extensions', extensions.install, extensions.uninstall))]
      : []),
    ...(diff.fips ? [boots('FIPS mode changed')] : []),
  ];
}

/** `kernel arguments changed (+nosmt -quiet)`; without names, only the order differs. */
function listText(subject: string, added: readonly string[], removed: readonly string[]): string {
  const names = [...added.map((name) => `+${name}`), ...removed.map((name) => `-${name}`)];
  return names.length === 0 ? `${subject} reordered` : `${subject} changed (${names.join(' ')})`;
}

function shortImage(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1');
}

function fileChange(path: string, verb: string, { policies, drain }: ChangesInput): PlannedChange {
  const change = changeOf('File', `file ${path} ${verb}`, decisionForFile(path, policies));
  if (!hasAction(change.cost, 'Special')) return change;
  const runs = runnableActions(change.cost);
  return drain.drain
    ? { ...change, cost: [{ type: 'Drain' }, ...runs], why: `${change.why}: ${drain.reason}` }
    : { ...change, cost: runs, why: `${change.why}: no running pod can notice` };
}

function unitChange(name: string, verb: string, policies: DisruptionPolicies): PlannedChange {
  return changeOf('Unit', `unit ${name} ${verb}`, decisionForUnit(name, policies));
}

function userChanges({ facts, policies }: ChangesInput): readonly PlannedChange[] {
  const decision = decisionForUsers(policies);
  const keys = changeOf('User', 'SSH keys changed', decision);
  const password = changeOf('User', 'password changed', decision);
  return [
    ...(facts.sshKeysChanged ? [keys] : []),
    ...(facts.passwordChanged
      ? [{ ...password, why: `${password.why}, which passwords share` }]
      : []),
  ];
}

function changeOf(
  part: PlannedChange['part'],
  what: string,
  { cost, rule }: Decision,
): PlannedChange {
  return { part, what, cost, why: ruleText(rule), rule };
}
