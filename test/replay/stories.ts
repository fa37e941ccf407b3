/** Runs whose histories are replayed: each takes another path through the workflows. */

import type { WorkflowHandle } from '@temporalio/client';
import type { FakeWorld } from '../workflow/support/fake-world';
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

type Story = [name: string, tell: (servers: TestServers) => Promise<Handles>];

/** Each ends with the handles whose histories it gives. */
export const STORIES: readonly Story[] = [
  [
    'a reboot',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 3 });
      await (await world.startRollout()).result();
      return {
        'update-node.reboot': world.update(world.name(1)),
        'pool-rollout.completed': world.rollout(),
      };
    },
  ],
  [
    'a restart of a service',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 1, plan: aRestartPlan() });
      await (await world.startRollout()).result();
      return { 'update-node.restart': world.update(world.name(1)) };
    },
  ],
  [
    'a node with nothing to drain',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 1 });
      world.withoutPods = true;
      await (await world.startRollout()).result();
      return { 'update-node.empty': world.update(world.name(1)) };
    },
  ],
  [
    'a node that is on its config already',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 1 });
      world.host(world.name(1)).config = 'c2';
      await (await world.startRollout()).result();
      return { 'update-node.unchanged': world.update(world.name(1)) };
    },
  ],
  [
    'a host that is silent when it is to commit',
    ({ temporal }) =>
      committed(temporal, 'update-node.silent-at-commit', async (world) => {
        const gate = world.hold('commitUpdate');
        const proof = world.hold('verifyUpdate');
        return async () => {
          proof.open();
          await gate.reached;
          const again = world.hold('verifyUpdate');
          await again.reached;
          gate.open();
          again.open();
        };
      }),
  ],
  [
    'a host that has committed, and whose answer was lost',
    ({ temporal }) =>
      committed(temporal, 'update-node.committed-unheard', async (world) => {
        const node = world.name(1);
        const gate = world.hold('commitUpdate');
        return async () => {
          await gate.reached;
          const is = { config: 'c2', applied: undefined, staged: undefined, rebooted: false };
          Object.assign(world.host(node), is);
          world.failWith('verifyUpdate', node, 'VerifyFailed', 'cannot be told');
          await world.progressUntil(({ updated }) => updated === 1);
          gate.open();
        };
      }),
  ],
  [
    'a failed apply',
    ({ temporal }) => failedAt(temporal, 'applyUpdate', 'ApplyFailed', 'update-node.apply-failed'),
  ],
  [
    'a rollback after the reboot',
    ({ temporal }) =>
      failedAt(temporal, 'verifyUpdate', 'WrongDeployment', 'update-node.rolled-back'),
  ],
  [
    'a cancelled drain',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 1 });
      const gate = world.hold('drainNode');
      await world.startRollout();
      await gate.reached;
      await world.update(world.name(1)).cancel();
      await world.progressUntil(({ held }) => held.length === 1);
      gate.open();
      await world.rollout().cancel();
      await world
        .rollout()
        .result()
        .catch(() => undefined);
      return {
        'update-node.cancelled': world.update(world.name(1)),
        'pool-rollout.cancelled': world.rollout(),
      };
    },
  ],
  [
    'a retarget',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 3 });
      const gate = world.hold('drainNode', world.name(1));
      await world.startRollout();
      await gate.reached;
      const config = `rendered-${world.pool}-3`;
      world.config = config;
      await world.rollout().executeUpdate('retarget', { args: [{ config }] });
      gate.open();
      await world.rollout().result();
      return { 'pool-rollout.retargeted': world.rollout() };
    },
  ],
  [
    'messages of a person',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 3 });
      const last = world.name(3);
      const gate = world.hold('drainNode', world.name(1));
      await world.startRollout();
      await gate.reached;
      await world.rollout().executeUpdate('skipNode', { args: [{ node: last }] });
      await world.rollout().executeUpdate('pause', { args: [{ reason: 'change freeze' }] });
      gate.open();
      await world.progressUntil(({ updated }) => updated === 1);
      await world.rollout().executeUpdate('resume', { args: [{}] });
      await world.progressUntil(({ updated }) => updated === 2);
      await world.rollout().executeUpdate('retryNode', { args: [{ node: last }] });
      await world.rollout().result();
      return { 'pool-rollout.messages': world.rollout() };
    },
  ],
  [
    'an adoption',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 2 });
      const gate = world.hold('drainNode', world.name(1));
      await world.startRollout();
      await gate.reached;
      await world.rollout().terminate('recording');
      await world.startRollout();
      await world.progressUntil(({ slots }) => slots.length === 1);
      gate.open();
      await world.rollout().result();
      return {
        'pool-rollout.adopted': world.rollout(),
        'update-node.attached': world.update(world.name(1)),
      };
    },
  ],
  [
    'a node that is deleted',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 2 });
      const first = world.name(1);
      const gate = world.hold('drainNode', first);
      await world.startRollout();
      await gate.reached;
      world.deleteNode(first);
      await world.tell(`node ${first} is gone`);
      await world.rollout().result();
      gate.open();
      return {
        'update-node.deleted': world.update(first),
        'pool-rollout.deleted': world.rollout(),
      };
    },
  ],
  [
    'a node that is moved',
    async ({ temporal }) => {
      const world = await temporal.world({ nodes: 2 });
      const other = await temporal.world({ nodes: 0, beside: world, config: 'd1' });
      const first = world.name(1);
      const gate = world.hold('drainNode', first);
      await world.startRollout();
      await gate.reached;
      world.moveNode(first, other);
      await world.tell(`labels of node ${first}`);
      const update = await world.update(first).describe();
      gate.open();
      await world.rollout().result();
      return {
        'update-node.moved': temporal.client.workflow.getHandle(update.workflowId, update.runId),
        'pool-rollout.moved': world.rollout(),
      };
    },
  ],
  [
    'a rollout in several runs',
    async ({ newRuns }) => {
      const world = await newRuns.world({ nodes: 6, maxUnavailable: 2 });
      const first = (await (await world.startRollout()).describe()).runId;
      await world.rollout().result();
      return {
        'pool-rollout.continued': newRuns.client.workflow.getHandle(world.rolloutId, first),
        'pool-rollout.carried': world.rollout(),
      };
    },
  ],
];

/** @param before - prepares the world; what it gives is done while the rollout runs */
async function committed(
  temporal: TestTemporal,
  name: string,
  before: (world: FakeWorld) => Promise<(() => Promise<void>) | undefined | void>,
): Promise<Handles> {
  const world = await temporal.world({ nodes: 1, policy: { reconnectSeconds: 2 } });
  const meanwhile = await before(world);
  await world.startRollout();
  await meanwhile?.();
  await world.rollout().result();
  return { [name]: world.update(world.name(1)) };
}

async function failedAt(
  temporal: TestTemporal,
  step: string,
  failure: string,
  name: string,
): Promise<Handles> {
  const world = await temporal.world({ nodes: 1, policy: { failureThreshold: 1 } });
  world.failWith(step, world.name(1), failure, 'something is wrong', 1);
  await world.startRollout();
  await world.progressUntil(({ state }) => state === 'Halted');
  const failed = world.update(world.name(1));
  const { runId } = await failed.describe();
  await world.rollout().executeUpdate('retryNode', { args: [{ node: world.name(1) }] });
  await world.rollout().result();
  return {
    [name]: temporal.client.workflow.getHandle(failed.workflowId, runId),
    [name.replace('update-node', 'pool-rollout')]: world.rollout(),
  };
}
