/** A row for each node of `rollout status`, from the cluster's objects and the open updates. Pure. */

import { NodeCondition } from '../core/names';
import type { Condition } from '../core/object-meta';
import { NodePhase } from '../core/node/lifecycle';
import type { MachineConfigNode } from '../core/node/types';
import type { OpenUpdate } from '../core/rollout/picture';
import type { Grant } from '../core/rollout/pool-rollout';
import type { Member } from '../core/rollout/standing';
import { type RunningStep, stepText } from './running-step';

export type NodeGroup =
  | 'Failed'
  | 'Blocked'
  | 'Held'
  | 'GoingBack'
  | 'Preparing'
  | 'WaitingForGrant'
  | 'Cordoning'
  | 'Draining'
  | 'Applying'
  | 'Rebooting'
  | 'Verifying'
  | 'Completing'
  | 'Pending'
  | 'Updated';

const OUT_OF_SERVICE: readonly NodeGroup[] = [
  ...(['GoingBack', 'Cordoning', 'Draining', 'Applying'] as const),
  ...(['Rebooting', 'Verifying', 'Completing'] as const),
];

/** An update has taken it out of service, or is about to. */
export function isOutOfService(group: NodeGroup): boolean {
  return OUT_OF_SERVICE.includes(group);
}

export interface NodeRow {
  readonly node: string;
  readonly group: NodeGroup;
  /** RFC 3339. */
  readonly since?: string;
  /** Its step or its blocker. */
  readonly detail?: string;
}

/** What is known of a node besides its Node. */
interface KnownOfUpdate {
  /** The rendered config of the pool. */
  readonly target: string | undefined;
  readonly machineConfigNode: MachineConfigNode | undefined;
  readonly grant: Grant | undefined;
  /** As Temporal lists it. */
  readonly update: OpenUpdate | undefined;
  /** Why it is prepared and has no grant. */
  readonly withheld: string | undefined;
  readonly step: RunningStep | undefined;
}

export function rowOf(member: Member, known: KnownOfUpdate): NodeRow {
  const { standing, prepared, name: node } = member;
  const { grant, update, target } = known;
  const isGranted = grant !== undefined && grant.run === prepared?.run;
  if (standing.is === 'taken' || isGranted) return workingRow(member, known);
  if (standing.is === 'updated') return { node, group: 'Updated' };
  const isUnderWay = standing.is === 'open' || standing.is === 'blocked';
  if (isUnderWay && update !== undefined) return notYetGranted(member, known, update);
  if (standing.is === 'open' || target === undefined) return { node, group: 'Pending' };
  return { node, group: LEFT_ALONE[standing.is], detail: standing.reason };
}

const LEFT_ALONE = { failed: 'Failed', held: 'Held', blocked: 'Blocked' } as const;

/** Its update prepares the host, or waits. Neither disturbs the node. */
function notYetGranted(member: Member, known: KnownOfUpdate, update: OpenUpdate): NodeRow {
  const { name: node, prepared, standing } = member;
  const { step, target, withheld } = known;
  const why = standing.is === 'blocked' && target !== undefined ? standing.reason : '';
  if (target !== undefined && update.config !== target) {
    const ends = `waiting for its update to ${update.config} to end`;
    return { node, group: 'Preparing', ...sinceOf(step?.since), ...detailOf(ends, newsOf(step)) };
  }
  if (prepared?.run === update.run) {
    const blocker = why === '' ? (withheld ?? '') : why;
    return { node, group: 'WaitingForGrant', since: prepared.startedAt, ...detailOf(blocker) };
  }
  return { node, group: 'Preparing', ...sinceOf(step?.since), ...detailOf(why, newsOf(step)) };
}

/** It has its grant: it is out of service, or about to be. */
function workingRow(member: Member, known: KnownOfUpdate): NodeRow {
  const { name: node, standing, heldBecause, desiredConfig } = member;
  const { grant, machineConfigNode, step } = known;
  const config = grant?.config ?? desiredConfig ?? '';
  const running = runningCondition(machineConfigNode);
  const began = standing.is === 'taken' ? standing.run.startedAt : undefined;
  // The line of the node names this config already.
  const message = (running?.condition.message ?? '').replace(`${config}: `, '');
  // Of a reboot it does not say why its node is not Ready yet.
  const saysAll = running !== undefined && running.group !== 'Rebooting';
  // Beside all, the step has news after a failed attempt, or when no worker has it.
  const isNews = step !== undefined && (step.attempt > 1 || step.blocker !== undefined);
  const news = isNews || !saysAll ? newsOf(step) : '';
  return {
    node,
    group: running?.group ?? groupBetweenSteps(config, machineConfigNode),
    ...sinceOf(running?.condition.lastTransitionTime ?? grant?.grantedAt ?? began),
    ...detailOf(message, news, heldBecause ?? ''),
  };
}

function newsOf(step: RunningStep | undefined): string {
  return step === undefined ? '' : stepText(step);
}

function sinceOf(since: string | undefined): Pick<NodeRow, 'since'> {
  return since === undefined ? {} : { since };
}

function detailOf(...texts: readonly string[]): Pick<NodeRow, 'detail'> {
  const detail = texts.filter((text) => text !== '').join('; ');
  return detail === '' ? {} : { detail };
}

/** The grant was just given, or the report of the last step is on its way. */
function groupBetweenSteps(
  config: string,
  machineConfigNode: MachineConfigNode | undefined,
): NodeGroup {
  return machineConfigNode?.status?.configVersion?.current === config ? 'Completing' : 'Cordoning';
}

interface Step {
  readonly type: NodeCondition;
  /** Absent = any reason. */
  readonly reason?: string;
  readonly group: NodeGroup;
}

/** The latest step first; a rollback runs only the stage. */
const STEPS: readonly Step[] = [
  { type: NodeCondition.UPDATE_EXECUTED, reason: NodePhase.GOING_BACK, group: 'GoingBack' },
  { type: NodeCondition.UNCORDONED, group: 'Completing' },
  { type: NodeCondition.RESUMED, group: 'Completing' },
  { type: NodeCondition.UPDATE_COMPLETE, group: 'Verifying' },
  { type: NodeCondition.REBOOTED_NODE, group: 'Rebooting' },
  { type: NodeCondition.UPDATE_POST_ACTION_COMPLETE, group: 'Rebooting' },
  { type: NodeCondition.APPLIED_OS_IMAGE, group: 'Applying' },
  { type: NodeCondition.APPLIED_FILES, group: 'Applying' },
  { type: NodeCondition.APPLIED_FILES_AND_OS, group: 'Applying' },
  { type: NodeCondition.DRAINED, group: 'Draining' },
  { type: NodeCondition.CORDONED, group: 'Cordoning' },
];

/** The step in progress has status Unknown (mco-behaviour: pkg/upgrademonitor). */
function runningCondition(
  machineConfigNode: MachineConfigNode | undefined,
): { readonly condition: Condition; readonly group: NodeGroup } | undefined {
  for (const { type, reason, group } of STEPS) {
    const condition = machineConfigNode?.status?.conditions?.find(
      (candidate) =>
        candidate.type === type &&
        candidate.status === 'Unknown' &&
        (reason === undefined || candidate.reason === reason),
    );
    if (condition !== undefined) return { condition, group };
  }
  return undefined;
}
