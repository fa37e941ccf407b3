/**
 * Bugs that are put into the product on purpose, one at a time, to prove that the search finds such
 * bugs. Those of the workflows are changes of the compiled bundle: the text must be there exactly
 * once, so that a plant that no longer fits its soil is noticed. Those of the activities are switches
 * of the simulation.
 */

import type { ActivityPlants } from './world/plants';

export interface Change {
  readonly from: string;
  readonly to: string;
}

export interface Plant {
  readonly bug: string;
  /** The invariant that it breaks first: a violation of another one has not found this bug. */
  readonly breaks: string;
  /** A seed that finds it, and from which on it is looked for; without the bug it must break nothing. */
  readonly seed: number;
  /** Within so many seeds from there. */
  readonly within: number;
  /** In the compiled workflows. */
  readonly change?: Change;
  /** Beside it, where one guard stands behind the other. */
  readonly andChange?: Change;
  readonly activities?: ActivityPlants;
  /** Chance that an attempt of an activity goes wrong, for what fair weather hides; absent = the seed's own. */
  readonly storm?: number;
  /** Looked for with one pool and no machine that joins. */
  readonly plain?: boolean;
  /** Looked for where nobody edits a managed file: that ends many updates before the bug has its chance. */
  readonly unedited?: boolean;
}

/** The second guard of the canary: what the cluster shows half done, whatever the rollout remembers. */
const HALF_DONE_UNSEEN: Change = {
  from: '...rollout.tryingNodes(config),\n            ...halfDone\n',
  to: '...rollout.tryingNodes(config)\n',
};

/** The second guard of the slots: whoever uses one knows of those that were given before. */
const PENDING_UNNAMED: Change = {
  from: 'pending.length > NAMED ? undefined : pending',
  to: 'undefined',
};

export const PLANTS: readonly Plant[] = [
  {
    bug: 'a slot that was given does not count while the view shows its node in service',
    breaks: 'I1',
    ...{ seed: 3, within: 10, plain: true },
    change: {
      from: '...unavailable,\n        ...holders\n    ]);',
      to: '...unavailable\n    ]);',
    },
    andChange: PENDING_UNNAMED,
  },
  {
    bug: 'a slot is counted twice',
    breaks: 'I6',
    ...{ seed: 10, within: 10, plain: true },
    change: {
      from: 'taken.has(node) || taken.size < request.maxUnavailable',
      to: 'taken.has(node) || taken.size + request.holders.length < request.maxUnavailable',
    },
  },
  {
    bug: 'a slot is counted for ever after its update has reported',
    breaks: 'I6',
    ...{ seed: 3, within: 10, plain: true },
    change: {
      from: 'this.forgetRetry(node);\n        this.orphanedSlots.delete(node);\n        this.ended.note(report);',
      to: 'this.forgetRetry(node);\n        this.orphanedSlots.set(node, Date.now() + 1e11);\n        this.ended.note(report);',
    },
  },
  {
    bug: 'a slot is counted for ten minutes after its update has reported',
    breaks: 'I6',
    ...{ seed: 3, within: 10, plain: true },
    change: {
      from: 'this.forgetRetry(node);\n        this.orphanedSlots.delete(node);\n        this.ended.note(report);',
      to: 'this.forgetRetry(node);\n        this.orphanedSlots.set(node, Date.now() + 600000);\n        this.ended.note(report);',
    },
  },
  {
    bug: 'an update says that pods have to leave, and does nothing about it for five minutes',
    breaks: 'I6',
    ...{ seed: 3, within: 10, plain: true },
    change: {
      from: "if (!drained) await progress.during('Draining', cluster.drain, 'pods to leave the node');",
      to: "if (!drained) await progress.during('Draining', () => new Promise((resolve) => setTimeout(resolve, 300000)).then(cluster.drain), 'pods to leave the node');",
    },
  },
  {
    bug: 'an update whose machine is away still names the step before',
    breaks: 'I6',
    ...{ seed: 280, within: 10, plain: true, storm: 0.4 },
    change: {
      from: "progress.during('Rebooting', verify, 'the machine to come back')",
      to: 'verify()',
    },
  },
  {
    bug: 'a cancelled rollout that cannot write its pool names nothing',
    breaks: 'I6',
    ...{ seed: 1030, within: 10, plain: true, storm: 0.6 },
    change: {
      from: "rollout.writing = 'its pool to remember that it was cancelled';",
      to: '',
    },
  },
  {
    bug: 'a drain goes on although the last pod has left',
    breaks: 'I6',
    ...{ seed: 16, within: 10, plain: true },
    activities: { drainsOn: true },
  },
  {
    bug: 'a node is not given back after its drain timed out',
    breaks: 'I2',
    ...{ seed: 6, within: 10, plain: true },
    change: {
      from: 'if (isLeftAsFound(update, outcome)) return undefined;',
      to: "if (failure.name === 'DrainTimedOut') return undefined;",
    },
  },
  {
    bug: 'slots are lost when a rollout goes on in a new run',
    breaks: 'I1',
    ...{ seed: 1001, within: 10 },
    change: {
      from: 'children: [\n                ...this.children.values()\n            ],\n            orphanedSlots',
      to: 'children: [],\n            orphanedSlots',
    },
  },
  {
    bug: 'a lost update that had a slot counts for nothing',
    breaks: 'canary',
    ...{ seed: 24, within: 10 },
    change: {
      from: 'if (child.holdsSlot && child.adopting !== true) {\n            this.orphanedSlots.set(',
      to: 'if (false) {\n            this.orphanedSlots.set(',
    },
    andChange: HALF_DONE_UNSEEN,
  },
  {
    bug: 'whom a lost rollout has left half done is no canary for the next one',
    breaks: 'canary',
    ...{ seed: 109, within: 10 },
    change: HALF_DONE_UNSEEN,
  },
  {
    bug: 'reports are lost when a rollout goes on in a new run',
    breaks: 'canary',
    ...{ seed: 2062, within: 10, plain: true },
    change: {
      from: 'finished: this.kept,',
      to: 'finished: [],',
    },
    andChange: {
      from: 'failedReports: [\n                ...this.failed.values()\n            ],',
      to: 'failedReports: [],',
    },
  },
  {
    bug: 'a node is uncordoned before its machine is verified',
    breaks: 'I4',
    ...{ seed: 2, within: 10, plain: true },
    change: {
      from: "const after = await progress.during('Rebooting', verify, 'the machine to come back');",
      to: "await cluster.complete(); const after = await progress.during('Rebooting', verify, 'the machine to come back');",
    },
  },
  {
    bug: 'an update can be cancelled past its point of no return',
    breaks: 'cancel',
    ...{ seed: 6, within: 10, plain: true },
    change: {
      from: 'await update.life.shielded(()=>reboot(update, plan));',
      to: 'await reboot(update, plan);',
    },
  },
  {
    bug: 'another config leaves the updates behind that were prepared for the one before',
    breaks: 'I6',
    ...{ seed: 13, within: 10, plain: true },
    change: {
      from: '.filter((child)=>child.config !== rollout.config && child.cancelling === undefined && child.adopting !== true);',
      to: '.filter(()=>false);',
    },
  },
  {
    bug: 'one more node may fail than the threshold says',
    breaks: 'threshold',
    ...{ seed: 100, within: 10, plain: true },
    change: { from: 'return failedCount >= (0,', to: 'return failedCount > (0,' },
  },
  {
    bug: 'there is no canary',
    breaks: 'canary',
    ...{ seed: 6, within: 10, plain: true },
    change: {
      from: 'return missing > 0 ? {\n        slots: missing,',
      to: 'return missing > 99 ? {\n        slots: missing,',
    },
  },
  {
    bug: 'a failed update leaves its files on the host',
    breaks: 'I4',
    ...{ seed: 18, within: 10, plain: true },
    change: { from: 'if (!applied) return {\n', to: 'if (true) return {\n' },
  },
  {
    bug: 'a rollout that is started anew gives slots before it knows which updates run already',
    breaks: 'canary',
    ...{ seed: 1235, within: 10 },
    change: {
      from: "carry === undefined || carry.unlearned === true ? 'nothing' : 'all'",
      to: "'all'",
    },
    andChange: HALF_DONE_UNSEEN,
  },
  {
    bug: 'the cordon of a person is removed with ours',
    breaks: 'I3',
    ...{ seed: 5, within: 10, plain: true },
    activities: { liftsAnyCordon: true },
  },
  {
    bug: 'a reboot is ordered again when the answer to the first order was lost',
    breaks: 'I5',
    ...{ seed: 98, within: 10, plain: true },
    activities: { forgetsArming: true },
    storm: 0.4,
  },
  {
    bug: 'a node is done before its host has committed, which may still go back by itself',
    breaks: 'I5',
    ...{ seed: 3, within: 10 },
    change: {
      from: 'await untilCommitted(update);\n    return complete(update);',
      to: 'const ending = await complete(update);\n    await untilCommitted(update);\n    return ending;',
    },
  },
  {
    bug: 'a lost update is committed because its host was verified, although its node never was Ready',
    breaks: 'I7',
    ...{ seed: 19, within: 10 },
    activities: { believesItself: true },
  },
  {
    bug: 'a host says that it went back and did not',
    breaks: 'I4',
    ...{ seed: 18, within: 10, plain: true },
    activities: { skipsUndo: true },
  },
  {
    bug: 'a step of an update that has ended writes the Node again',
    breaks: 'I2',
    ...{ seed: 167, within: 10, plain: true },
    activities: { overlooksRuns: true },
    storm: 0.4,
  },
  {
    bug: 'a pause that comes late is written over the resume of a person',
    breaks: 'I3',
    ...{ seed: 220, within: 10, plain: true },
    activities: { believesAwaited: true },
    storm: 0.4,
  },
  {
    bug: 'nobody takes the taint of a node that will be drained away again',
    breaks: 'I2',
    ...{ seed: 3, within: 10, plain: true },
    activities: { leavesTaints: true },
  },
  {
    bug: 'a machine boots back although somebody has uncordoned its node',
    breaks: 'I3',
    ...{ seed: 171, within: 10 },
    change: { from: "if (cordon === 'ours') return;", to: 'return;' },
  },
  {
    bug: 'a machine reboots with a pod that was bound to it after its drain',
    breaks: 'I3',
    ...{ seed: 55, within: 10 },
    change: { from: "cluster.show('Draining', plan.summary);", to: 'return;' },
  },
  {
    bug: 'a machine boots back with a pod that was bound to it after its reboot',
    breaks: 'I3',
    ...{ seed: 700, within: 10, unedited: true },
    change: {
      from: "return checked.isEmpty ? 'ours' : 'ours, and pods';",
      to: "return 'ours';",
    },
  },
  {
    bug: 'slots are counted over the nodes of all pools',
    breaks: 'I1',
    ...{ seed: 7, within: 10 },
    activities: { countsAllNodes: true },
  },
  {
    bug: 'a node that is down by itself for a moment gets a slot for nothing',
    breaks: 'I1',
    ...{ seed: 101, within: 10, plain: true },
    activities: { takesDownForLeft: true },
    storm: 0.4,
  },
  {
    bug: 'a node that was moved is cordoned by the rollout of the pool that it has left',
    breaks: 'I1',
    ...{ seed: 15, within: 10 },
    activities: { overlooksMoves: true },
  },
  {
    bug: 'the status of a pool counts the nodes of all pools',
    breaks: 'I7',
    ...{ seed: 3, within: 10 },
    activities: { statusOfAllNodes: true },
  },
  {
    bug: 'a machine whose way back has failed is put back into service',
    breaks: 'I4',
    ...{ seed: 33, within: 10, plain: true, storm: 0.4 },
    change: {
      from: 'ok: false,\n            problem: {',
      to: 'ok: true,\n            problem: {',
    },
  },
  {
    bug: 'a pause holds up nothing',
    breaks: 'pause',
    ...{ seed: 6, within: 10, plain: true },
    change: {
      from: 'if (view === undefined || ending !== undefined || viewProblem !== undefined) return true;\n    return rollout.paused().paused;',
      to: 'if (view === undefined || ending !== undefined || viewProblem !== undefined) return true;\n    return false;',
    },
  },
];

/** @throws an `Error` when the plant is stale */
export function planted(bundle: string, { bug, change, andChange }: Plant): string {
  const changes = [change, andChange].filter((one) => one !== undefined);
  return changes.reduce((code, one) => changedOnce(code, one, bug), bundle);
}

/** @throws an `Error` when the text is not in the code exactly once */
export function changedOnce(code: string, { from, to }: Change, what: string): string {
  const found = code.split(from).length - 1;
  if (found !== 1) {
    throw new Error(
      `the plant "${what}" is stale: its text is ${found} times in the compiled workflows; ` +
        'adapt the plant to the source as it is now',
    );
  }
  return code.replace(from, () => to);
}
