/**
 * Records the histories that the replay tests guard, from real runs on a real Temporal server, into the
 * folder of the version in package.json. Run by a person, see test/histories/README.md; a history that
 * exists is never overwritten.
 */

import type { WorkflowHandle } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils';
import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';
import type { FakeWorld } from '../workflow/support/fake-world';
import { aRestartPlan } from '../workflow/support/plans';
import { startBench, type TestBench } from '../workflow/support/temporal';

jest.setTimeout(120_000);

let bench: TestBench;
let newRuns: TestBench;
beforeAll(async () => {
  bench = await startBench();
  newRuns = await startBench({
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 40 },
  });
}, 180_000);
afterAll(async () => {
  await bench.stop();
  await newRuns.stop();
}, 60_000);

type Path = [name: string, story: () => Promise<Record<string, WorkflowHandle>>];

/** Each story ends with the handles whose histories it gives, by file name. */
const PATHS: readonly Path[] = [
  ['a reboot', () => story({}, async (world) => void (await world.rollout().result()))],
  [
    'a restart of a service',
    async () => {
      const world = await bench.world({ nodes: 1, plan: aRestartPlan() });
      await (await world.startRollout()).result();
      return { 'update-node.restart': world.update(world.name(1)) };
    },
  ],
  [
    'a node with nothing to drain',
    async () => {
      const world = await bench.world({ nodes: 1 });
      world.withoutPods = true;
      await (await world.startRollout()).result();
      return { 'update-node.empty': world.update(world.name(1)) };
    },
  ],
  [
    'a node that is on its config already',
    async () => {
      const world = await bench.world({ nodes: 1 });
      world.host(world.name(1)).config = 'c2';
      await (await world.startRollout()).result();
      return { 'update-node.unchanged': world.update(world.name(1)) };
    },
  ],
  ['a commit', () => committed('update-node.until-commit', async () => undefined)],
  [
    'a host of the version before, which is decided by its proof',
    () =>
      committed('update-node.host-of-before', async (world) => {
        world.host(world.name(1)).isOfBefore = true;
      }),
  ],
  [
    'a host that is silent when it is to commit',
    () =>
      committed('update-node.silent-at-commit', async (world) => {
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
    () =>
      committed('update-node.committed-unheard', async (world) => {
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
  ['a failed apply', () => failedAt('applyUpdate', 'ApplyFailed', 'update-node.apply-failed')],
  [
    'a rollback after the reboot',
    () => failedAt('verifyUpdate', 'WrongDeployment', 'update-node.rolled-back'),
  ],
  [
    'a cancelled drain',
    async () => {
      const world = await bench.world({ nodes: 1 });
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
    async () => {
      const world = await bench.world({ nodes: 3 });
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
    async () => {
      const world = await bench.world({ nodes: 3 });
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
    async () => {
      const world = await bench.world({ nodes: 2 });
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
    async () => {
      const world = await bench.world({ nodes: 2 });
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
    async () => {
      const world = await bench.world({ nodes: 2 });
      const other = await bench.world({ nodes: 0, beside: world, config: 'd1' });
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
        'update-node.moved': bench.client.workflow.getHandle(update.workflowId, update.runId),
        'pool-rollout.moved': world.rollout(),
      };
    },
  ],
  [
    'a rollout in several runs',
    async () => {
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

async function story(
  options: Parameters<TestBench['world']>[0],
  tell: (world: FakeWorld) => Promise<void>,
): Promise<Record<string, WorkflowHandle>> {
  const world = await bench.world({ nodes: 3, ...options });
  await world.startRollout();
  await tell(world);
  return {
    'update-node.reboot': world.update(world.name(1)),
    'pool-rollout.completed': world.rollout(),
  };
}

/** @param before - prepares the world; what it gives is done while the rollout runs */
async function committed(
  name: string,
  before: (world: FakeWorld) => Promise<(() => Promise<void>) | undefined | void>,
): Promise<Record<string, WorkflowHandle>> {
  const world = await bench.world({ nodes: 1, policy: { reconnectSeconds: 2 } });
  const meanwhile = await before(world);
  await world.startRollout();
  await meanwhile?.();
  await world.rollout().result();
  return { [name]: world.update(world.name(1)) };
}

async function failedAt(
  step: string,
  failure: string,
  name: string,
): Promise<Record<string, WorkflowHandle>> {
  const world = await bench.world({ nodes: 1, policy: { failureThreshold: 1 } });
  world.failWith(step, world.name(1), failure, 'something is wrong', 1);
  await world.startRollout();
  await world.progressUntil(({ state }) => state === 'Halted');
  const failed = world.update(world.name(1));
  const { runId } = await failed.describe();
  await world.rollout().executeUpdate('retryNode', { args: [{ node: world.name(1) }] });
  await world.rollout().result();
  return {
    [name]: bench.client.workflow.getHandle(failed.workflowId, runId),
    [name.replace('update-node', 'pool-rollout')]: world.rollout(),
  };
}

it.each(PATHS)('records %s', async (_name, tell) => {
  const handles = await tell();

  for (const [name, handle] of Object.entries(handles)) await record(name, handle);

  expect(Object.keys(handles)).not.toHaveLength(0);
});

async function record(name: string, handle: WorkflowHandle): Promise<void> {
  const root = repositoryRoot();
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const folder = join(root, 'test', 'histories', version);
  const file = join(folder, `${name}.json`);
  if (existsSync(file)) return;
  await mkdir(folder, { recursive: true });
  // Stack traces name files by where the checkout was, and those of packages by where they really are.
  const packages = dirname(await realpath(join(root, 'node_modules')));
  const history = historyToJSON(await handle.fetchHistory())
    .replaceAll(`${root}/`, '')
    .replaceAll(`${packages}/`, '');
  await writeFile(file, `${history}\n`);
}
