/** A rollout that asks which silent updates still run, in quiet weather, and is answered late. */

import { poolRolloutId, updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { Attempt } from './temporal/attempt';
import type { World } from './world/world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const QUESTION = 'findRunningUpdates';

const POLICY = {
  canary: { nodes: 0 },
  failureThreshold: '100%',
  verify: { readySeconds: 0, reconnectSeconds: 3_000 },
};

interface Told {
  readonly seed: number;
  readonly nodes: number;
  readonly slots: number;
}

/** Whose updates a new rollout has just taken over: one works on a host that is away, and the others go on. */
async function takenOver({ seed, nodes, slots }: Told) {
  const pool = {
    maxUnavailable: slots,
    configs: [1, 2, 3, 4].map(rebootingConfig),
    policy: { ...POLICY, prepareAhead: slots },
  };
  const { world, run } = await quietWorld({ seed, nodes, pool });
  world.controllers.begin();
  const changing = () => [...world.hosts.values()].find(({ journal }) => journal !== undefined);
  const waiting = async () => {
    const children = (await world.progress('worker'))?.children ?? [];
    return children.find(({ stage, holdsSlot }) => stage === 'waiting' && !holdsSlot)?.node;
  };
  await until(run, () => changing() !== undefined);
  changing()?.killWorker(30 * MINUTE_MS);
  await until(run, async () => (await waiting()) !== undefined);
  const next = (await waiting()) ?? '';
  await world.terminate(poolRolloutId('worker'));
  const adopted = async () => {
    const children = (await world.progress('worker'))?.children ?? [];
    return children.map(({ adopting }) => adopting === true);
  };
  await until(run, async () => (await adopted()).includes(true));
  await until(run, async () => !(await adopted()).includes(true));
  return { world, run, next };
}

/** What happens to the questions from now on. */
function answering(
  world: World,
  how: (attempt: Attempt, answer: () => Promise<unknown>) => unknown,
) {
  const around = world.faults.around.bind(world.faults);
  jest.spyOn(world.faults, 'around').mockImplementation(async (attempt, carryOut) => {
    if (attempt.call.type !== QUESTION) return around(attempt, carryOut);
    return how(attempt, carryOut);
  });
}

jest.setTimeout(120_000);

it.each([1, 2])('gives slots while it waits for the answer (seed %d)', async (seed) => {
  const { world, run } = await takenOver({ seed, nodes: 30, slots: 6 });
  let isAsking = false;
  answering(world, async (attempt) => {
    isAsking = true;
    await attempt.sleep(10 * MINUTE_MS);
  });
  await until(run, () => isAsking);
  const slots = async () => (await world.progress('worker'))?.slots ?? [];
  const before = new Set(await slots());

  const given = new Set<string>();
  for (let seconds = 0; seconds < 35; seconds += 1) {
    await run(SECOND_MS);
    for (const node of await slots()) if (!before.has(node)) given.add(node);
  }

  expect([...given]).not.toEqual([]);
  await run(2 * 60 * MINUTE_MS);
  expect(world.invariants.violations).toEqual([]);
});

it('does not take the end of an update for that of one which began meanwhile', async () => {
  const { world, run, next } = await takenOver({ seed: 3, nodes: 6, slots: 1 });
  const isOpen = () => world.temporal.open().some(({ id }) => id === updateNodeId(next));
  const begin = world.temporal.start.bind(world.temporal);
  const refused: string[] = [];
  jest.spyOn(world.temporal, 'start').mockImplementation((type, id, ...rest) => {
    const execution = begin(type, id, ...rest);
    if (execution === undefined) refused.push(id);
    return execution;
  });
  let isAnswered = false;
  answering(world, async (attempt, answer) => {
    if (isAnswered) return answer();
    expect(world.temporal.cancel(updateNodeId(next))).toBe(true);
    while (isOpen()) await attempt.sleep(20);
    const found = await answer();
    world.ask('worker', 'retryNode', { node: next });
    while (!isOpen()) await attempt.sleep(20);
    isAnswered = true;
    return found;
  });

  await until(run, () => isAnswered);
  await run(2 * MINUTE_MS);

  expect(refused).toEqual([]);
  const { children = [] } = (await world.progress('worker')) ?? {};
  expect(children).toContainEqual(expect.objectContaining({ node: next, holdsSlot: false }));
  await run(2 * 60 * MINUTE_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
