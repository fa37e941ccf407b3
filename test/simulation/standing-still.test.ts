/** What a rollout does while nothing happens, for hours of virtual time. */

import { Chance, VirtualClock } from './clock';
import { shippedSandbox } from './many-seeds';
import { scenarioOf } from './scenario';
import { START, Trace } from './trace';
import { World } from './world/world';

const MINUTE_MS = 60_000;

describe('a rollout whose nodes all are in the hands of a person', () => {
  it('looks every ten minutes once it has heard nothing for as long, and goes on at once', async () => {
    const { world, trace, run } = await quietWorld();
    const nodes = [...world.cluster.nodes.keys()];
    nodes.forEach((node) => world.cordon(node));
    world.controllers.begin();
    await run(30 * MINUTE_MS);
    expect(await world.progress('worker')).toMatchObject({ children: [], updated: 0 });

    const before = looksIn(trace);
    await run(120 * MINUTE_MS);

    const looks = looksIn(trace) - before;
    expect(looks).toBeGreaterThanOrEqual(11);
    expect(looks).toBeLessThanOrEqual(13);
    nodes.forEach((node) => world.uncordon(node));
    await run(5_000);
    expect((await world.progress('worker'))?.children).not.toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  }, 60_000);
});

function looksIn(trace: Trace): number {
  return trace.last(4_000).filter((line) => line.includes(': selectNodes attempt ')).length;
}

/** A pool of two nodes that do not have its config yet, and nothing that goes wrong. */
async function quietWorld() {
  const drawn = scenarioOf(1, true);
  const calm = {
    ...{ nodes: 2, incidents: 0, stuckPods: 0, longHistory: 100_000 },
    weather: { activity: 0, task: 0, memory: 0 },
  };
  const scenario = { ...drawn, ...calm };
  const clock = new VirtualClock(START);
  const trace = new Trace(() => clock.now);
  const sandbox = await shippedSandbox();
  const chance = new Chance(1);
  const world = new World({ clock, chance, trace, sandbox, scenario, plants: {} });
  const run = async (ms: number): Promise<void> => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    while (!isOver) await clock.step();
  };
  return { world, trace, run };
}
