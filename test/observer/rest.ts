/** Promises for a cluster without updates (I2, I7), from the record alone. */

import type { ObservedNode, ObservedStatus } from './observed';
import type { RolloutRecord } from './record';
import { CORDONED_BY, UPDATE_TAINT } from './record';
import type { Invariant } from './violation';

export interface RestProblem {
  readonly invariant: Extract<Invariant, 'I2' | 'I7'>;
  readonly subject: string;
  readonly text: string;
}

const GROUP = 'machineconfiguration.openshift.io';
/** Prefix of taints and annotations that exist only during an update. */
const OURS = 'slipway.dev/';

/**
 * Compares the pool, its nodes and their MachineConfigNodes. A node that failed, is held or is
 * cordoned by a person is on its old config, and every status must say so.
 */
export function problemsAtRest(record: RolloutRecord, pool: string): readonly RestProblem[] {
  const status = record.pool(pool);
  return [
    ...record.nodes.flatMap((node) => nodeProblems(record, node, status?.target ?? '')),
    ...(status === undefined ? [i7(pool, 'there is no such pool')] : poolProblems(record, status)),
  ];
}

function nodeProblems(
  record: RolloutRecord,
  node: ObservedNode,
  target: string,
): readonly RestProblem[] {
  const { name, annotations } = node;
  const current = annotations[`${GROUP}/currentConfig`] ?? '';
  const desired = annotations[`${GROUP}/desiredConfig`] ?? '';
  const state = annotations[`${GROUP}/state`] ?? '';
  const owner = annotations[CORDONED_BY];
  const leaver = record.cordonLeftBy(name);
  const mine = record.machineConfigNode(name);
  const failed = hasFailed(state);
  return [
    ...(owner === undefined ? [] : [i2(name, `it is marked as cordoned by ${owner}`)]),
    ...(leaver === undefined ? [] : [i2(name, `it has a cordon of ${leaver} without a mark`)]),
    ...node.taints
      .filter((key) => key.startsWith(OURS) || (key === UPDATE_TAINT && !isLater(node, target)))
      .map((key) => i2(name, `it has taint ${key}`)),
    ...(state === 'Done' || failed ? [] : [i7(name, `its state is ${state || 'not set'}`)]),
    ...(failed || current === desired
      ? []
      : [i7(name, `it is on ${current}, desired is ${desired}`)]),
    ...(mine === undefined
      ? [i7(name, 'it has no MachineConfigNode')]
      : machineProblems(node, mine, failed)),
  ];
}

/** A rollout drains it once it is back, or once a person lifts the cordon. */
function isLater({ annotations, ready, unschedulable }: ObservedNode, target: string): boolean {
  const isTheirs = unschedulable && annotations[CORDONED_BY] === undefined;
  const isBehind = annotations[`${GROUP}/currentConfig`] !== target;
  return isBehind && (isTheirs || !ready) && !hasFailed(annotations[`${GROUP}/state`]);
}

function machineProblems(
  { name, annotations }: ObservedNode,
  mine: ObservedStatus,
  failed: boolean,
): readonly RestProblem[] {
  const current = annotations[`${GROUP}/currentConfig`] ?? '';
  const says = (what: string) => i7(name, `its MachineConfigNode says ${what}`);
  const condition = (type: string) => mine.conditions[type]?.status ?? 'nothing';
  const onIts = mine.target === current;
  return [
    ...(mine.current === current ? [] : [says(`current is ${mine.current}, the Node ${current}`)]),
    ...(failed || onIts ? [] : [says(`desired is ${mine.target}, the Node is on ${current}`)]),
    ...(failed || condition('Updated') === 'True'
      ? []
      : [says(`Updated is ${condition('Updated')}`)]),
    ...(failed === (condition('NodeDegraded') === 'True')
      ? []
      : [says(`NodeDegraded is ${condition('NodeDegraded')}`)]),
    ...Object.entries(mine.conditions)
      .filter(([, { status }]) => status === 'Unknown')
      .map(([type]) => says(`${type} is still under way`)),
  ];
}

function poolProblems(record: RolloutRecord, pool: ObservedStatus): readonly RestProblem[] {
  const { nodes } = record;
  const count = (is: (node: ObservedNode) => boolean) => nodes.filter(is).length;
  // A node that failed is not updated, whatever it is on.
  const isUpdated = ({ annotations }: ObservedNode) =>
    annotations[`${GROUP}/currentConfig`] === pool.target &&
    !hasFailed(annotations[`${GROUP}/state`]);
  const updated = count(isUpdated);
  const unavailable = count(({ ready, unschedulable }) => !ready || unschedulable);
  const degraded = count(({ annotations }) => hasFailed(annotations[`${GROUP}/state`]));
  const wanted: Readonly<Record<string, number>> = {
    machineCount: nodes.length,
    updatedMachineCount: updated,
    degradedMachineCount: degraded,
    readyMachineCount: count((node) => isUpdated(node) && node.ready && !node.unschedulable),
    // A node that failed counts as unavailable, although it serves.
    ...(degraded > 0 ? {} : { unavailableMachineCount: unavailable }),
  };
  const counts = Object.entries(wanted).flatMap(([name, number]) => {
    const said = pool.counts[name];
    return said === number ? [] : [i7(pool.name, `${name} is ${said}, of its nodes ${number} are`)];
  });
  const all = updated === nodes.length && unavailable === 0 && degraded === 0;
  const inWords = `${updated} of ${nodes.length} nodes are updated, ${degraded} failed`;
  const render = pool.conditions['RenderDegraded']?.status === 'True';
  const conditions: Readonly<Record<string, boolean>> = {
    Updated: all,
    // As in MCO: True while the pool is not on its target, also when it stands still, unless it is
    // paused.
    Updating: !all && !pool.paused,
    NodeDegraded: degraded > 0,
    Degraded: degraded > 0 || render,
  };
  const untrue = Object.entries(conditions).flatMap(([type, is]) => {
    const said = pool.conditions[type]?.status ?? 'nothing';
    return said === (is ? 'True' : 'False')
      ? []
      : [i7(pool.name, `${type} is ${said}, ${inWords}`)];
  });
  return [
    ...counts,
    ...untrue,
    ...(!all || pool.current === pool.target
      ? []
      : [i7(pool.name, `its status is on ${pool.current}, its spec on ${pool.target}`)]),
  ];
}

function hasFailed(state: string | undefined): boolean {
  return state === 'Degraded' || state === 'Unreconcilable';
}

function i2(subject: string, text: string): RestProblem {
  return { invariant: 'I2', subject, text };
}

function i7(subject: string, text: string): RestProblem {
  return { invariant: 'I7', subject, text };
}
