/** What a rollout does while nothing happens, for hours of virtual time. */

import { updateNodeId } from '../../core/names';
import { quietWorld } from './quiet-world';
import type { Trace } from './trace';

const MINUTE_MS = 60_000;

describe('a rollout whose nodes all are in the hands of a person', () => {
  it('looks every ten minutes once it has heard nothing for as long, and goes on at once', async () => {
    const { world, trace, run } = await quietWorld();
    const nodes = [...world.cluster.nodes.keys()];
    nodes.forEach((node) => world.cordon(node));
    world.controllers.begin();
    await run(30 * MINUTE_MS);
    expect(world.rollout('worker')).toMatchObject({ grants: [], done: '0/2' });

    const before = looksIn(trace);
    await run(120 * MINUTE_MS);

    const looks = looksIn(trace) - before;
    expect(looks).toBeGreaterThanOrEqual(11);
    expect(looks).toBeLessThanOrEqual(13);
    nodes.forEach((node) => world.uncordon(node));
    await run(5_000);
    expect(world.temporal.isRunning(updateNodeId('node-001'))).toBe(true);
    expect(world.invariants.violations).toEqual([]);
  }, 60_000);
});

function looksIn(trace: Trace): number {
  return trace.last(4_000).filter((line) => line.includes(': step attempt ')).length;
}
