/** A person ends an update that has begun on a node, and puts the node back into service. In quiet weather. */

import { updateNodeId } from '../../core/names';
import { NO_LAST_LOOK } from './plants';
import type { PoolScenario } from './scenario';
import { quietWorld, rebootingConfig } from './quiet-world';
import { plantedCode } from './world/planted-code';
import type { ActivityPlants } from './world/plants';
import type { World } from './world/world';

const MINUTE_MS = 60_000;

/** What was left half done is taken for out of service, although it serves. */
const SERVING_NEEDS_NO_ROOM = {
  file: 'core/rollout/grants.ts',
  from: 'if (this.#out.has(name)) return undefined;',
  to: "if (standing.is === 'open' && standing.turn === 'halfDone') return undefined;",
};

interface Told {
  readonly policy?: PoolScenario['policy'];
  readonly plants?: ActivityPlants;
}

/** So many of four nodes are cordoned by their updates. */
async function drained(seed: number, count: number, { policy, plants = {} }: Told = {}) {
  const pool = {
    ...{ maxUnavailable: count, configs: [1, 2, 3, 4].map(rebootingConfig) },
    policy: { canary: { nodes: 0 }, ...policy },
  };
  const { world, run } = await quietWorld({ seed, nodes: 4, pool, plants });
  world.controllers.begin();
  const cordoned = () =>
    [...world.cluster.nodes].filter(([, { spec }]) => spec?.unschedulable).map(([name]) => name);
  while (cordoned().length < count) await run(50);
  return { world, run, names: cordoned(), cordoned };
}

async function putBack(world: World, name: string): Promise<void> {
  await world.terminate(updateNodeId(name));
  world.uncordon(name);
}

const boots = (world: World) => [...world.hosts.values()].map(({ boot }) => boot);
const configs = (world: World) => [...world.hosts.values()].map(({ current }) => current);

jest.setTimeout(120_000);

/** Another node goes down by itself in the same moment. */
async function whileAnotherIsDown(seed: number, plants: ActivityPlants = {}) {
  const { world, run, names } = await drained(seed, 1, { plants });
  const other = [...world.hosts.values()].find(({ name }) => !names.includes(name));
  other?.report(false);
  await putBack(world, names[0] ?? '');
  await run(20 * MINUTE_MS);
  return { world, run, other };
}

/** The observer sees the pause, and the end of it. */
async function watched(world: World, run: (ms: number) => Promise<void>, ms: number) {
  for (let at = 0; at < ms; at += 250) {
    await run(250);
    world.invariants.lookAround();
  }
}

async function whilePaused(seed: number) {
  const { world, run, names, cordoned } = await drained(seed, 1);
  const [name = ''] = names;
  world.bind(name, { name: 'stays', stuck: true });
  world.ask('worker', 'pause', { reason: 'change freeze' });
  await watched(world, run, MINUTE_MS);
  await putBack(world, name);
  for (const bound of world.pods.get(name) ?? []) bound.stuck = false;
  await run(30 * MINUTE_MS);
  return { world, run, cordoned };
}

describe('a node that is put back into service in the middle of its update', () => {
  it.each([1, 2, 3])('waits while another one is down by itself (seed %d)', async (seed) => {
    const { world, run, other } = await whileAnotherIsDown(seed);

    expect(boots(world)).toEqual([1, 1, 1, 1]);
    expect(world.rollout('worker')?.blocker).toContain(other?.name);
    other?.report(true);
    await run(40 * MINUTE_MS);
    expect(configs(world)).toEqual(Array.from({ length: 4 }, () => 'rendered-worker-2'));
    expect(world.invariants.violations).toEqual([]);
  });

  it.each([1, 2, 3])('waits while its pool is paused (seed %d)', async (seed) => {
    const { world, run, cordoned } = await whilePaused(seed);

    expect(cordoned()).toEqual([]);
    expect(boots(world)).toEqual([1, 1, 1, 1]);
    world.ask('worker', 'resume', {});
    await watched(world, run, 40 * MINUTE_MS);
    expect(configs(world)).toEqual(Array.from({ length: 4 }, () => 'rendered-worker-2'));
    expect(world.invariants.violations).toEqual([]);
  });

  it('does not, when it is taken for one that is out of service: planted, and found', async () => {
    const code = plantedCode([SERVING_NEEDS_NO_ROOM, NO_LAST_LOOK], 'it needs no room');
    const { world } = await whileAnotherIsDown(1, { code });

    expect(world.invariants.violations).toMatchObject([{ invariant: 'I1' }]);
  });

  it('does not wait for another one of which the same is true, under a lower limit', async () => {
    const { world, run, names } = await drained(4, 2);

    for (const name of names) await putBack(world, name);
    world.limit('worker', 1);
    await run(60 * MINUTE_MS);

    expect(configs(world)).toEqual(Array.from({ length: 4 }, () => 'rendered-worker-2'));
    expect(world.invariants.violations).toEqual([]);
  });

  it('is prepared where nobody else may be, when the others wait for it as their canary', async () => {
    const policy = { canary: { nodes: 1 }, prepareAhead: 0 };
    const { world, run, names } = await drained(5, 1, { policy });

    await putBack(world, names[0] ?? '');
    for (const { id } of world.temporal.open()) await world.terminate(id);
    await run(60 * MINUTE_MS);

    expect(configs(world)).toEqual(Array.from({ length: 4 }, () => 'rendered-worker-2'));
    expect(world.invariants.violations).toEqual([]);
  });

  it('keeps no other from its turn while a person holds it', async () => {
    const { world, run, names } = await drained(6, 1);
    const [name = ''] = names;

    await putBack(world, name);
    world.ask('worker', 'skipNode', { node: name });
    await run(60 * MINUTE_MS);

    const others = configs(world).filter((current) => current === 'rendered-worker-2');
    expect(others).toHaveLength(3);
    expect(world.hosts.get(name)?.boot).toBe(1);
    expect(world.invariants.violations).toEqual([]);
  });
});
