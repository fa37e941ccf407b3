/**
 * Bugs that are put into the product on purpose, one at a time, to prove that the search finds such bugs. Most are a
 * change of a text: of the compiled workflows, or of a source of the cluster activities. The text must be there exactly
 * once, so that a plant that no longer fits its soil is noticed. Bugs of hosts are switches of the simulation.
 *
 * What chance hardly ever brings together has stories: `planted-stories`, `lowered-limit`, `put-back`, `grants-overlap`.
 */

import type { Change } from './changed-once';
import type { Bug } from './planted-product';

export interface Plant extends Bug {
  /** A seed that finds it, and from which on it is looked for; without the bug it must break nothing. */
  readonly seed: number;
  /** Within so many seeds from there. */
  readonly within: number;
  /** Chance that an attempt of an activity goes wrong, for what fair weather hides; absent = the seed's own. */
  readonly storm?: number;
  /** Looked for with one pool and no machine that joins. */
  readonly plain?: boolean;
  /** Looked for where nobody edits a managed file: that ends many updates before the bug has its chance. */
  readonly unedited?: boolean;
}

const STANDING = 'core/rollout/standing.ts';
const GRANTS = 'core/rollout/grants.ts';
const DECIDE = 'core/rollout/decide.ts';
const RUNNING = 'core/rollout/running.ts';
const AWAIT_GRANT = 'activities/cluster/await-grant.ts';
const NODE_CHANGES = 'activities/cluster/node-changes.ts';

/** Nobody looks for room once more before the cordon. */
export const NO_LAST_LOOK: Change = {
  file: AWAIT_GRANT,
  from: 'if (!isControlPlane(node)) return whyNoRoom(room);',
  to: 'return undefined;',
};

export const PLANTS: readonly Plant[] = [
  {
    bug: 'a grant is dropped before its node is taken',
    breaks: 'I1',
    ...{ seed: 1, within: 10, plain: true },
    change: {
      file: GRANTS,
      from: 'if (member.isOut || !isOver(grant, member)) kept.set',
      to: 'if (member.isOut) kept.set',
    },
  },
  {
    bug: 'more grants are given than there is room for',
    breaks: 'I1',
    ...{ seed: 1, within: 10, plain: true },
    change: {
      file: GRANTS,
      from: 'if (this.#out.size < maxUnavailable) return undefined;',
      to: 'if (this.#out.size <= maxUnavailable) return undefined;',
    },
    andChange: NO_LAST_LOOK,
  },
  {
    bug: 'there is no canary',
    breaks: 'canary',
    ...{ seed: 1, within: 10, plain: true },
    change: {
      file: DECIDE,
      from: "const canaries = canariesOf(policy, countOf(picture, 'updated'));",
      to: 'const canaries = undefined;',
    },
  },
  {
    bug: 'a pause holds up nothing',
    breaks: 'pause',
    ...{ seed: 1, within: 10, plain: true },
    change: {
      file: DECIDE,
      from: 'isCancelled || isUnstarted || paused ||',
      to: 'isCancelled || isUnstarted ||',
    },
  },
  {
    bug: 'a node that a person holds is granted',
    breaks: 'I6',
    ...{ seed: 10, within: 10, plain: true },
    change: {
      file: STANDING,
      from: "if (held !== undefined) return { is: 'held', reason: held };",
      to: '',
    },
    andChange: {
      file: NODE_CHANGES,
      from: 'if (annotationOf(node, ANNOTATION.HELD_FOR) !== config) return;',
      to: 'if (node !== undefined) return;',
    },
  },
  {
    bug: 'another config leaves the updates behind that were prepared for the one before',
    breaks: 'I6',
    ...{ seed: 1, within: 10, plain: true },
    change: {
      file: RUNNING,
      from: 'return config === target ? undefined : `',
      to: 'return config.length > 0 ? undefined : `',
    },
    andChange: {
      file: 'activities/cluster/unwanted.ts',
      from: 'if (target === step.config) return;',
      to: 'if (target.length > 0) return;',
    },
  },
  {
    bug: 'an update says that pods have to leave, and does nothing about it for five minutes',
    breaks: 'I6',
    ...{ seed: 2, within: 10, plain: true },
    change: {
      from: 'draining: ({ prepared })=>',
      to: 'draining: async ({ prepared })=>await new Promise((resolve) => setTimeout(resolve, 300000)) ??',
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
      from: 'cluster.release(release, phase).then(',
      to: "(release.failure.name === 'DrainTimedOut' ? Promise.resolve() : cluster.release(release, phase)).then(",
    },
  },
  {
    bug: 'a node is uncordoned before its machine is verified',
    breaks: 'I4',
    ...{ seed: 2, within: 10, plain: true },
    change: {
      from: '=>host.verify(rebootedFrom)',
      to: '=>cluster.complete().then(()=>host.verify(rebootedFrom))',
    },
  },
  {
    bug: 'an update can be cancelled past its point of no return',
    breaks: 'cancel',
    ...{ seed: 6, within: 10, plain: true },
    change: {
      from: 'return !state.prepared.plan.reboot;',
      to: 'return true;',
    },
  },
  {
    bug: 'a failed update leaves its files on the host',
    breaks: 'I4',
    ...{ seed: 3, within: 10, plain: true },
    change: { from: "if (reach === 'committed') return", to: "if (reach !== 'nothing') return" },
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
    ...{ seed: 3, within: 10, plain: true },
    activities: { skipsUndo: true },
  },
  {
    bug: 'nobody takes the taint of a node that will be drained away again',
    breaks: 'I2',
    ...{ seed: 1, within: 10, plain: true },
    activities: { leavesTaints: true },
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
    ...{ seed: 2, within: 10, plain: true, storm: 0.4 },
    change: {
      from: 'isBack: false,\n        problem: {',
      to: 'isBack: true,\n        problem: {',
    },
  },
  {
    bug: 'a grant is dropped although its node does not serve yet',
    breaks: 'I1',
    ...{ seed: 2, within: 10, plain: true, storm: 0.4 },
    change: {
      file: GRANTS,
      from: 'if (member.isOut || !isOver(grant, member)) kept.set',
      to: 'if (!isOver(grant, member)) kept.set',
    },
  },
  {
    bug: 'a run that is closed is believed to be open',
    breaks: 'I2',
    ...{ seed: 10, within: 10, plain: true, storm: 0.4 },
    change: {
      file: 'activities/cluster/step/request-saver.ts',
      from: 'if (isClosed) found.add(run);',
      to: '',
    },
  },
  {
    bug: 'what a lost update has left is not taken up',
    breaks: 'I2',
    ...{ seed: 10, within: 10, plain: true, storm: 0.4 },
    change: {
      file: RUNNING,
      from: 'if (isLeft) toTakeUp.push(member);',
      to: 'if (isLeft) continue;',
    },
  },
  {
    bug: 'an update that gives its node back does not say that it is over',
    breaks: 'I6',
    ...{ seed: 4, within: 10, plain: true },
    change: {
      file: NODE_CHANGES,
      from: '...nextTry(input, now), ...mark }',
      to: '...nextTry(input, now) }',
    },
    andChange: { file: RUNNING, from: 'else toClose.push(grant);', to: '' },
  },
  {
    bug: 'one more node may fail than the threshold says',
    breaks: 'threshold',
    ...{ seed: 9, within: 10, plain: true, storm: 0.4 },
    change: {
      file: 'core/rollout/threshold.ts',
      from: 'return counted.length >= failureLimit',
      to: 'return counted.length > failureLimit',
    },
  },
  {
    bug: 'the cordon of a person is removed with ours',
    breaks: 'I3',
    ...{ seed: 309, within: 10, plain: true },
    change: {
      file: NODE_CHANGES,
      from: 'return isCordonedBySlipway(node) && !isCordonedByPerson(node) ? {',
      to: 'return isUnschedulable(node) ? {',
    },
  },
  {
    bug: 'a reboot is ordered again when the answer to the first order was lost',
    breaks: 'I5',
    ...{ seed: 6, within: 10, plain: true, storm: 0.4 },
    activities: { forgetsArming: true },
  },
  {
    bug: 'a node is done before its host has committed, which may still go back by itself',
    breaks: 'I5',
    ...{ seed: 109, within: 10 },
    change: {
      from: 'committing: ()=>',
      to: 'committing: async ()=>await cluster.complete() ?? ',
    },
  },
];
