/** The phases of a plan, each with its reason. */

import { actionText, type DrainDecision } from '../disruption';
import { causesOf, changesText } from './plan-text';
import type { PlanFacts, PlanPhase, UpdatePlan } from './plan-types';

/** In order; a plan that cannot be applied has only the first. */
export function planPhases(
  plan: Omit<UpdatePlan, 'phases' | 'summary'>,
  drain: DrainDecision,
): readonly PlanPhase[] {
  if (!plan.reconcilable.ok) return [{ phase: 'Prepare', reason: plan.reconcilable.reason }];
  const files = filesText(plan);
  const os = changesText(plan.changes.filter(({ part }) => part === 'OS'));
  const drained = drain.drain ? drain.reason : '';
  const services = plan.reboot ? [] : plan.actions.map(actionText);
  const phases: readonly PlanPhase[] = [
    { phase: 'Prepare', reason: 'fetch the config and check what can be checked' },
    { phase: 'Cordon', reason: drained && 'no new pods may come while the node is drained' },
    { phase: 'Drain', reason: drained },
    { phase: 'ApplyFiles', reason: files },
    { phase: 'ApplyOS', reason: os },
    { phase: 'ReloadServices', reason: services.join(', ') },
    { phase: 'Reboot', reason: plan.reboot ? changesText(causesOf(plan)) : '' },
    { phase: 'Verify', reason: 'the machine must match its config' },
    { phase: 'Uncordon', reason: drained && 'pods may come back' },
  ];
  return phases.filter(({ reason }) => reason !== '');
}

/** `2 files, 1 unit, SSH keys`; empty when nothing is written. */
function filesText({ files, units, sshKeysChanged, passwordChanged }: PlanFacts): string {
  return [
    countText(files.changed.length + files.removed.length, 'file'),
    countText(units.changed.length + units.removed.length, 'unit'),
    sshKeysChanged ? 'SSH keys' : '',
    passwordChanged ? 'password' : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

function countText(count: number, noun: string): string {
  return count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`;
}
