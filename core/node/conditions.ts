/**
 * The conditions of a MachineConfigNode in each phase of an update.
 *
 * Types, statuses, parents and children are MCO's: Unknown = in progress, True = done, False = not
 * done. The sentences are Slipway's.
 *
 * @see MCO pkg/upgrademonitor/upgrade_monitor.go (7ff337a4)
 */

import { NodeCondition } from '../names';
import type { Condition } from '../object-meta';
import { NodePhase } from './lifecycle';

/** These describe the machine, and the server writes them. */
const OF_MACHINE: readonly NodeCondition[] = [
  NodeCondition.DRIFTED,
  NodeCondition.FOREIGN_UPDATER,
  NodeCondition.HOST_BUNDLE,
  NodeCondition.PINNED_IMAGE_SETS_PROGRESSING,
  NodeCondition.PINNED_IMAGE_SETS_DEGRADED,
];

/** Every condition of a MachineConfigNode, in the order of an update. */
export const MCN_CONDITIONS: readonly NodeCondition[] = Object.values(NodeCondition).filter(
  (type) => !OF_MACHINE.includes(type),
);

const PARENTS = {
  [NodeCondition.UPDATE_PREPARED]: [],
  [NodeCondition.UPDATE_EXECUTED]: [
    NodeCondition.CORDONED,
    NodeCondition.DRAINED,
    NodeCondition.APPLIED_FILES_AND_OS,
    NodeCondition.APPLIED_FILES,
    NodeCondition.APPLIED_OS_IMAGE,
  ],
  [NodeCondition.UPDATE_POST_ACTION_COMPLETE]: [NodeCondition.REBOOTED_NODE],
  [NodeCondition.UPDATE_COMPLETE]: [NodeCondition.UNCORDONED],
} as const satisfies Partial<Record<NodeCondition, readonly NodeCondition[]>>;

type Stage = keyof typeof PARENTS;
const STAGES = Object.keys(PARENTS) as readonly Stage[];

interface ConditionOptions {
  readonly config: string;
  /** RFC 3339; becomes the transition time of what changes. */
  readonly now: string;
  /** The present action or the error; absent = a general sentence. */
  readonly message?: string;
  /** Catalogue name of the failure, for `Degraded`. */
  readonly failure?: string;
  /** For `Cancelled`: the config that the node is on again, verified; absent = none. */
  readonly restsOn?: string;
  /** Steps that are known to be done although their phase was not written. */
  readonly done?: readonly NodeCondition[];
}

/**
 * All conditions of a MachineConfigNode whose update is in this phase; writing a phase twice
 * changes nothing. Steps of a phase that was not written are False, unless `done` names them.
 *
 * @param previous - the present conditions; absent or incomplete ones begin as NotYetOccurred
 */
export function mcnConditions(
  phase: NodePhase,
  previous: readonly Condition[] | undefined,
  options: ConditionOptions,
): readonly Condition[] {
  const before = complete(previous ?? [], options.now);
  const values = valuesFor(phase, before, options);
  return before.map((condition) => {
    const value = values.get(condition.type);
    if (value === undefined) return condition;
    const lastTransitionTime =
      value.status === condition.status
        ? (condition.lastTransitionTime ?? options.now)
        : options.now;
    return { type: condition.type, ...value, lastTransitionTime };
  });
}

type Value = Pick<Condition, 'status' | 'reason' | 'message'>;
type Values = Map<string, Value>;

function valuesFor(
  phase: NodePhase,
  before: readonly Condition[],
  options: ConditionOptions,
): Values {
  switch (phase) {
    case NodePhase.UPDATED:
      return updated(before, options);
    case NodePhase.DEGRADED:
      return ended(before, 'UpdateFailed', `update to ${options.config} failed`).set(
        NodeCondition.NODE_DEGRADED,
        {
          status: 'True',
          reason: options.failure ?? 'UpdateFailed',
          message: options.message ?? `the update to ${options.config} failed`,
        },
      );
    case NodePhase.CANCELLED:
      return cancelled(before, options);
    case NodePhase.GONE:
      return ended(before, 'NodeDeleted', `the node was deleted during its update`);
    case NodePhase.GOING_BACK:
      return ended(before, 'GoingBack', `rolling back from ${options.config}`, 'Unknown').set(
        NodeCondition.UPDATE_EXECUTED,
        {
          status: 'Unknown',
          reason: 'GoingBack',
          message: options.message ?? `rolling back from ${options.config} to the previous config`,
        },
      );
    default:
      return underWay(PROGRESS[phase], before, options);
  }
}

/**
 * A node that rolled back is Updated on its previous config, which nothing else would show when it
 * stays there.
 */
function cancelled(before: readonly Condition[], { config, restsOn }: ConditionOptions): Values {
  const values = ended(before, 'UpdateCancelled', `update to ${config} was cancelled`);
  if (restsOn === undefined) return values;
  settle(values, before, [NodeCondition.NODE_DEGRADED], () => notDegraded(config));
  return values.set(NodeCondition.UPDATED, {
    status: 'True',
    reason: 'UpdateCancelled',
    message: `node is on ${restsOn}; the update to ${config} was cancelled`,
  });
}

interface Progress {
  readonly stage: Stage;
  readonly steps: readonly NodeCondition[];
  /** The stage is done, and the update waits for something else. */
  readonly stageDone?: boolean;
  /** True as soon as the phase begins. */
  readonly already?: readonly NodeCondition[];
  /** The node is being disturbed, so an older failure does not count. */
  readonly disturbs: boolean;
  readonly message: string;
}

type ForwardPhase = Exclude<NodePhase, 'Updated' | 'Degraded' | 'Cancelled' | 'Gone' | 'GoingBack'>;

const PROGRESS = {
  Preparing: {
    stage: NodeCondition.UPDATE_PREPARED,
    steps: [],
    disturbs: false,
    message: 'fetching, checking and staging',
  },
  WaitingForGrant: {
    stage: NodeCondition.UPDATE_PREPARED,
    steps: [],
    stageDone: true,
    disturbs: false,
    message: 'prepared, waiting for a grant',
  },
  Draining: {
    stage: NodeCondition.UPDATE_EXECUTED,
    steps: [NodeCondition.DRAINED],
    disturbs: true,
    message: 'evicting the pods of the node',
  },
  Applying: {
    stage: NodeCondition.UPDATE_EXECUTED,
    steps: [
      NodeCondition.APPLIED_FILES_AND_OS,
      NodeCondition.APPLIED_FILES,
      NodeCondition.APPLIED_OS_IMAGE,
    ],
    disturbs: true,
    message: 'applying files, units and OS changes',
  },
  Reloading: {
    stage: NodeCondition.UPDATE_POST_ACTION_COMPLETE,
    steps: [],
    disturbs: true,
    message: 'reloading and restarting services',
  },
  Rebooting: {
    stage: NodeCondition.UPDATE_POST_ACTION_COMPLETE,
    steps: [NodeCondition.REBOOTED_NODE],
    disturbs: true,
    message: 'rebooting the machine',
  },
  Verifying: {
    stage: NodeCondition.UPDATE_COMPLETE,
    steps: [],
    disturbs: true,
    message: 'verifying that the machine is on its config',
  },
  Completing: {
    stage: NodeCondition.UPDATE_COMPLETE,
    steps: [NodeCondition.UNCORDONED],
    already: [NodeCondition.RESUMED],
    disturbs: true,
    message: 'verified, committing it and returning the node to service',
  },
} as const satisfies Record<ForwardPhase, Progress>;

/** Earlier stages are done, this one runs, later ones are not done; steps in progress are done. */
function underWay(
  progress: Progress,
  before: readonly Condition[],
  options: ConditionOptions,
): Values {
  const values: Values = new Map();
  const current = STAGES.indexOf(progress.stage);
  const message = `${options.config}: ${options.message ?? progress.message}`;
  STAGES.forEach((stage, index) => {
    if (index > current) settle(values, before, [stage, ...PARENTS[stage]], notYet);
    else settle(values, before, PARENTS[stage], (type) => doneValue(type, options.config));
    if (index < current) values.set(stage, doneValue(stage, options.config));
  });
  values.set(
    progress.stage,
    progress.stageDone === true
      ? { status: 'True', reason: progress.stage, message }
      : { status: 'Unknown', reason: progress.stage, message },
  );
  for (const step of progress.steps) {
    values.set(step, { status: 'Unknown', reason: `${progress.stage}${step}`, message });
  }
  settle(values, before, [NodeCondition.UPDATED, NodeCondition.RESUMED], () => ({
    status: 'False',
    reason: 'UpdateInProgress',
    message: `the node is being updated to ${options.config}`,
  }));
  if (progress.disturbs) {
    settle(values, before, [NodeCondition.NODE_DEGRADED], () => notDegraded(options.config));
  }
  for (const type of [...(progress.already ?? []), ...(options.done ?? [])]) {
    values.set(type, doneValue(type, options.config));
  }
  return values;
}

/** The node is on its config, so nothing is in progress. */
function updated(before: readonly Condition[], options: ConditionOptions): Values {
  const values: Values = new Map();
  settle(values, before, MCN_CONDITIONS, (_type, condition) => ({
    status: 'False',
    reason: condition.reason,
    message: `Action during update to ${options.config}: ${condition.message}`,
  }));
  return values
    .set(NodeCondition.UPDATED, {
      status: 'True',
      reason: NodeCondition.UPDATED,
      message: options.message ?? `the node is on ${options.config}`,
    })
    .set(NodeCondition.NODE_DEGRADED, notDegraded(options.config));
}

/** Nothing is in progress, and done steps are undone. NodeDegraded is not touched. */
function ended(
  before: readonly Condition[],
  reason: string,
  message: string,
  only?: Condition['status'],
): Values {
  const values: Values = new Map();
  const types = MCN_CONDITIONS.filter((type) => type !== NodeCondition.NODE_DEGRADED);
  const affected = before.filter(({ status }) => only === undefined || status === only);
  settle(values, affected, types, (_type, condition) => ({
    status: 'False',
    reason,
    message: `${message}; before: ${condition.message}`,
  }));
  return values;
}

/** Sets the given types whose condition is not False. */
function settle(
  values: Values,
  before: readonly Condition[],
  types: readonly NodeCondition[],
  value: (type: NodeCondition, condition: Condition) => Value,
): void {
  for (const condition of before) {
    const type = types.find((candidate) => candidate === condition.type);
    if (type !== undefined && condition.status !== 'False') {
      values.set(type, value(type, condition));
    }
  }
}

/** All conditions that an update writes, without those of others. */
function complete(all: readonly Condition[], now: string): readonly Condition[] {
  const previous = ownConditions(all);
  const missing = MCN_CONDITIONS.filter((type) => !previous.some((given) => given.type === type));
  return [
    ...previous,
    ...missing.map((type) => ({ type, ...notYet(type), lastTransitionTime: now })),
  ];
}

/** The conditions that updates write: an apply owns what it writes, so others' are left out. */
export function ownConditions(conditions: readonly Condition[]): readonly Condition[] {
  return conditions.filter(({ type }) => MCN_CONDITIONS.some((own) => own === type));
}

function notYet(type: NodeCondition): Value {
  return {
    status: 'False',
    reason: 'NotYetOccurred',
    message: `This node has not yet entered the ${type} phase`,
  };
}

/** MCO's reasons: a stage's is its own name, a step's is that of its stage and its own. */
function doneValue(type: NodeCondition, config: string): Value {
  const stage = STAGES.find((candidate) => includes(PARENTS[candidate], type));
  return { status: 'True', reason: `${stage ?? ''}${type}`, message: `${config}: ${type}` };
}

function notDegraded(config: string): Value {
  return {
    status: 'False',
    reason: 'AsExpected',
    message: `no failure while updating to ${config}`,
  };
}

function includes(types: readonly NodeCondition[], type: NodeCondition): boolean {
  return types.includes(type);
}
