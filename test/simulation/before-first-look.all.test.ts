/** What people say of a node while the first look of its rollout does not succeed, in quiet weather. */

import { fail } from '../../core/errors';
import { ANNOTATION, poolRolloutId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { Picture } from './world/cluster';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const POOL = {
  maxUnavailable: 1,
  configs: [1, 2, 3, 4].map(rebootingConfig),
  policy: { canary: { nodes: 0 }, verify: { readySeconds: 0, reconnectSeconds: 300 } },
};

jest.setTimeout(120_000);

/** What a cluster worker sees whose watches have not caught up. */
function unsynced(picture: Picture): Picture {
  const synced = Promise.reject(fail('ApiUnavailable', 'the watches have not caught up yet'));
  synced.catch(() => undefined);
  const nodes = Object.create(picture.nodes, { synced: { value: synced } }) as Picture['nodes'];
  return { ...picture, nodes };
}

/** Temporal has lost the rollout, and no cluster worker can look for the one that begins. */
async function lostRollout(seed: number) {
  const { world, run, trace } = await quietWorld({ seed, nodes: 3, pool: POOL });
  const answers = () => trace.last(100_000).filter((line) => line.includes(' person: skipNode: '));
  world.onlyWorker = unsynced(world.cluster.watch);
  world.controllers.begin();
  const isBlind = async () =>
    (await world.progress('worker'))?.blocker?.includes('have not caught up') === true;
  await until(run, isBlind, SECOND_MS);
  const node = [...world.hosts.keys()].at(-1) ?? '';
  const seesAgain = (): void => {
    world.onlyWorker = undefined;
  };
  return { world, run, node, answers, seesAgain };
}

it.each([1, 2, 3])('leaves out a node that is skipped meanwhile (seed %d)', async (seed) => {
  const { world, run, node, answers, seesAgain } = await lostRollout(seed);
  world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
  await run(10 * SECOND_MS);
  expect(answers()).toEqual([]);
  seesAgain();
  await run(30 * MINUTE_MS);

  expect(answers()).toEqual([expect.stringContaining('skipNode: done')]);
  const { annotations = {} } = world.cluster.node(node).metadata;
  expect(annotations[ANNOTATION.HELD_FOR]).toBe('rendered-worker-2');
  expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-1');
  expect(world.hosts.get(node)?.boot).toBe(1);
  expect(await world.progress('worker')).toMatchObject({ state: 'Blocked', updated: 2 });
  expect(world.invariants.violations).toEqual([]);
});

it('says within a minute why it cannot, and updates that node with all others then', async () => {
  const { world, run, node, answers, seesAgain } = await lostRollout(1);
  world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
  await run(MINUTE_MS + SECOND_MS);
  expect(answers()).toEqual([
    expect.stringMatching(/skipNode: look at pool worker: ApiUnavailable: .*have not caught up/),
  ]);
  seesAgain();
  await run(40 * MINUTE_MS);

  const { annotations = {} } = world.cluster.node(node).metadata;
  expect(annotations[ANNOTATION.HELD_FOR]).toBeUndefined();
  expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-2');
  expect(world.temporal.isRunning(poolRolloutId('worker'))).toBe(false);
  expect(world.invariants.violations).toEqual([]);
});
