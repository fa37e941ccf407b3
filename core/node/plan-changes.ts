/** The changes of an update, each with its cost and the rule behind it. */

import {
  closestFilePolicy,
  hasAction,
  runnableActions,
  type DisruptionAction,
  type DisruptionPolicies,
  type DrainDecision,
} from '../disruption';
import type { MachineConfigDiff } from '../machine-config/diff';
import type { ChangedNames, PlanFacts, PlannedChange } from './plan-types';

const REBOOT: readonly DisruptionAction[] = [{ type: 'Reboot' }];
const UNCOVERED = { cost: REBOOT, why: 'no disruption policy covers it' } as const;

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
  const boots = (what: string): PlannedChange => ({
    part: 'OS',
    what,
    cost: REBOOT,
    why: 'it takes effect at a boot only',
  });
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
  const named = { part: 'File', what: `file ${path} ${verb}` } as const;
  const policy = closestFilePolicy(path, policies.files);
  if (policy === undefined) return { ...named, ...UNCOVERED };
  const why = `policy for ${policy.path}`;
  if (!hasAction(policy.actions, 'Special')) return { ...named, cost: policy.actions, why };
  const runs = runnableActions(policy.actions);
  return drain.drain
    ? { ...named, cost: [{ type: 'Drain' }, ...runs], why: `${why}: ${drain.reason}` }
    : { ...named, cost: runs, why: `${why}: no running pod can notice` };
}

function unitChange(name: string, verb: string, policies: DisruptionPolicies): PlannedChange {
  const named = { part: 'Unit', what: `unit ${name} ${verb}` } as const;
  const policy = policies.units.find((one) => one.name === name);
  return policy === undefined
    ? { ...named, ...UNCOVERED }
    : { ...named, cost: policy.actions, why: `policy for unit ${name}` };
}

function userChanges({ facts, policies }: ChangesInput): readonly PlannedChange[] {
  const change = (what: string, why: string): PlannedChange => ({
    part: 'User',
    what,
    cost: policies.sshkey.actions,
    why,
  });
  return [
    ...(facts.sshKeysChanged ? [change('SSH keys changed', 'policy for SSH keys')] : []),
    ...(facts.passwordChanged
      ? [change('password changed', 'policy for SSH keys, which passwords share')]
      : []),
  ];
}
