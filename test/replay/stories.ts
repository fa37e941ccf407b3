/** Runs whose histories are replayed: each takes another path through the workflows. */

import type { WorkflowHandle } from '@temporalio/client';
import { poolRolloutId } from '../../core/names';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import { startByPerson } from '../../process/temporal/start-rollout';
import {
  cancelNodeUpdate,
  pauseUpdate,
  resumeUpdate,
  retryNodeUpdate,
  skipNodeUpdate,
  type StepResult,
} from '../../workflows/contracts/rollout';
import type { FakeWorld, WorldOptions } from '../workflow/support/fake-world';
import { oneNodeOn, type OneNode } from '../workflow/support/one-node';
import { aRestartPlan } from '../workflow/support/plans';
import type { TestTemporal } from '../workflow/support/temporal';

/** Where they run. */
export interface TestServers {
  readonly temporal: TestTemporal;
  /** Goes on in a new run after a few events. */
  readonly newRuns: TestTemporal;
}

/** By what is special about it. */
type Handles = Readonly<Record<string, WorkflowHandle>>;

/** Ends with the handles whose histories it gives. */
type Story = [name: string, tell: (servers: TestServers) => Promise<Handles>];

const SHORT: WorldOptions = { policy: { reconnectSeconds: 2 } };
const SOON = { lookAgainSeconds: 0.01 };

/** Of updates of a node. */
const UPDATES: readonly Story[] = [
  update('a reboot', 'reboot'),
  update('a restart of a service', 'restart', { options: { plan: aRestartPlan() } }),
  update('a node with nothing to drain', 'empty', {
    before: ({ world }) => {
      world.withoutPods = true;
    },
  }),
  update('a node that is on its config already', 'unchanged', {
    before: ({ world, node }) => {
      world.host(node).config = 'c2';
    },
  }),
  update('a pod that comes late', 'late-pod', {
    at: 'applyUpdate',
    meanwhile: ({ world, node }) => world.bindLate(node),
  }),
  update('a host that is silent when it is to commit', 'silent-at-commit', {
    options: SHORT,
    at: 'commitUpdate',
    meanwhile: async ({ world, node }) => {
      const again = world.hold('verifyUpdate', node);
      await again.reached;
      again.open();
    },
  }),
  update('a host that has committed, and whose answer was lost', 'committed-unheard', {
    options: SHORT,
    at: 'commitUpdate',
    meanwhile: async ({ world, node }) => {
      const is = { config: 'c2', applied: undefined, staged: undefined, rebooted: false };
      Object.assign(world.host(node), is);
      world.failWith('verifyUpdate', node, 'VerifyFailed', 'cannot be told');
      await world.ended(node);
    },
  }),
  failed('a refused config', 'refused', ['prepareUpdate', 'DigestMismatch']),
  failed('a drain that times out', 'timed-out', ['drainNode', 'DrainTimedOut']),
  failed('a failed apply', 'apply-failed', ['applyUpdate', 'ApplyFailed']),
  failed('a way back after the reboot', 'gone-back', ['verifyUpdate', 'WrongDeployment']),
  update('a way back of a node that a person has uncordoned', 'uncordoned', {
    before: ({ world, node }) => {
      world.failWith('awaitReturn', node, 'VerifyFailed', 'fell over again', 1);
    },
    at: 'awaitReturn',
    meanwhile: ({ world, node }) => world.changeNode(node, { unschedulable: false }),
  }),
  update('a host that cannot be taken back', 'stuck', {
    before: ({ world, node }) => {
      world.failWith('verifyUpdate', node, 'WrongDeployment', 'booted the old one');
      world.failWith('goBack', node, 'RollbackFailed', 'no previous deployment');
    },
  }),
  update('a host that a lost update left on what does not hold', 'left', {
    before: ({ world, node }) => {
      world.host(node).isLeft = true;
    },
  }),
  ...['prepareUpdate', 'takeOutOfService', 'drainNode', 'applyUpdate', 'verifyUpdate'].map((at) =>
    cancelled(`an update that is cancelled at ${at}`, `cancelled-${at}`, at),
  ),
  cancelled('a node that is deleted', 'deleted', 'verifyUpdate', ({ world, node }) => {
    world.deleteNode(node);
  }),
  cancelled('a node that is moved', 'moved', 'applyUpdate', ({ world, node }) => {
    world.moveNode(node);
  }),
  update('a node that is held while it waits', 'held', {
    at: 'takeOutOfService',
    meanwhile: async ({ world, node }) => {
      world.holdNode(node);
      await world.ended(node);
    },
  }),
];

/** Of rollouts. */
const ROLLOUTS: readonly Story[] = [
  [
    'a rollout that a person starts',
    async ({ temporal }) => {
      answers(temporal, 'completed', [SOON, SOON, { ended: 'completed' }]);
      await startByPerson(temporal.client.workflow, 'completed', {});
      await endOf(temporal, 'completed');
      return { 'pool-rollout.completed': rolloutOf(temporal, 'completed') };
    },
  ],
  [
    'a rollout that news start, and wake',
    async ({ temporal }) => {
      const script = answers(temporal, 'woken', [{}, {}, { ended: 'completed' }]);
      const waker = new RolloutWaker(temporal.client.workflow);
      for (const steps of [1, 2, 3]) {
        await waker.wake('woken', { nodes: steps });
        await script.untilSteps(steps);
      }
      await endOf(temporal, 'woken');
      return { 'pool-rollout.woken': rolloutOf(temporal, 'woken') };
    },
  ],
  [
    'words of people',
    async ({ temporal }) => {
      const script = temporal.script('words');
      await new RolloutWaker(temporal.client.workflow).wake('words', {});
      const rollout = rolloutOf(temporal, 'words');
      const node = 'worker-3';
      const reason = 'change freeze';
      await Promise.all([
        rollout.executeUpdate(pauseUpdate, { args: [{ reason }] }),
        rollout.executeUpdate(skipNodeUpdate, { args: [{ node }] }),
        rollout.executeUpdate(cancelNodeUpdate, { args: [{ node: 'worker-4' }] }),
      ]);
      await rollout.executeUpdate(resumeUpdate, { args: [{}] });
      script.answer = () => ({ ended: 'completed' });
      await rollout.executeUpdate(retryNodeUpdate, { args: [{ node }] });
      await endOf(temporal, 'words');
      return { 'pool-rollout.words': rollout };
    },
  ],
  [
    'a rollout that is cancelled',
    async ({ temporal }) => {
      const script = temporal.script('cancelled');
      script.answer = ({ isCancelled }) => (isCancelled ? { ended: 'cancelled' } : {});
      await new RolloutWaker(temporal.client.workflow).wake('cancelled', {});
      await script.untilSteps(1);
      await rolloutOf(temporal, 'cancelled').cancel();
      await endOf(temporal, 'cancelled');
      return { 'pool-rollout.cancelled': rolloutOf(temporal, 'cancelled') };
    },
  ],
  [
    'a rollout whose pool is deleted',
    async ({ temporal }) => {
      answers(temporal, 'gone', [{ ended: 'pool deleted' }]);
      await new RolloutWaker(temporal.client.workflow).wake('gone', {});
      await endOf(temporal, 'gone');
      return { 'pool-rollout.gone': rolloutOf(temporal, 'gone') };
    },
  ],
  [
    'a rollout in several runs',
    async ({ newRuns }) => {
      answers(newRuns, 'long', [SOON, SOON, SOON, SOON, SOON, { ended: 'completed' }]);
      await new RolloutWaker(newRuns.client.workflow).wake('long', {});
      const { runId } = await rolloutOf(newRuns, 'long').describe();
      await endOf(newRuns, 'long');
      return {
        'pool-rollout.continued': newRuns.client.workflow.getHandle(poolRolloutId('long'), runId),
        'pool-rollout.carried': rolloutOf(newRuns, 'long'),
      };
    },
  ],
];

export const STORIES: readonly Story[] = [...UPDATES, ...ROLLOUTS];

interface Plot {
  readonly options?: WorldOptions;
  readonly before?: (one: OneNode) => void;
  /** A step where it is held until all that happens meanwhile has. */
  readonly at?: string;
  readonly meanwhile?: (one: OneNode) => Promise<unknown> | void;
}

function update(name: string, id: string, plot: Plot = {}): Story {
  return [
    name,
    async ({ temporal }) => {
      const { options, before, at, meanwhile } = plot;
      const one = await oneNodeOn(temporal, options);
      const { world, node } = one;
      before?.(one);
      const gate = at === undefined ? undefined : world.hold(at, node);
      await world.startUpdate(node, { found: id === 'left' ? 'lost' : 'whole' });
      await gate?.reached;
      await meanwhile?.(one);
      gate?.open();
      return ofUpdate(world, node, id);
    },
  ];
}

function failed(name: string, id: string, [step, failure]: readonly [string, string]): Story {
  const before = ({ world, node }: OneNode): void => {
    world.failWith(step, node, failure, 'something is wrong', 1);
  };
  return update(name, id, { before });
}

function cancelled(
  name: string,
  id: string,
  at: string,
  happens: (one: OneNode) => void = () => undefined,
): Story {
  return update(name, id, {
    at,
    meanwhile: async (one) => {
      const { world, node } = one;
      happens(one);
      await world.update(node).cancel();
      await world.until(() => world.stepsOf(node).includes('whyCancelled'));
      // Whoever is past the point of no return finishes first.
      if (id !== 'cancelled-verifyUpdate') await world.ended(node);
    },
  });
}

async function ofUpdate(world: FakeWorld, node: string, id: string): Promise<Handles> {
  await world.ended(node);
  return { [`update-node.${id}`]: world.update(node) };
}

/** One after the other, the last one to all that follow. */
function answers(
  temporal: Pick<TestTemporal, 'script'>,
  pool: string,
  given: readonly Partial<StepResult>[],
) {
  const script = temporal.script(pool);
  script.answer = (_, times) => given[times - 1] ?? given.at(-1) ?? {};
  return script;
}

function rolloutOf({ client }: Pick<TestTemporal, 'client'>, pool: string): WorkflowHandle {
  return client.workflow.getHandle(poolRolloutId(pool));
}

async function endOf(temporal: Pick<TestTemporal, 'client'>, pool: string): Promise<void> {
  await rolloutOf(temporal, pool)
    .result()
    .catch(() => undefined);
}
