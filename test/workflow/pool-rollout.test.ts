import { ANNOTATION } from '../../core/names';
import { startBench, type TestBench } from './support/temporal';

jest.setTimeout(60_000);

let bench: TestBench;
beforeAll(async () => {
  bench = await startBench();
}, 180_000);
afterAll(() => bench.stop(), 60_000);

describe('a rollout', () => {
  it('brings every node to the config, one after the other at maxUnavailable 1', async () => {
    const world = await bench.world({ nodes: 4, maxUnavailable: 1 });

    const result = await (await world.startRollout()).result();

    expect(result).toMatchObject({ state: 'Completed', updated: 4, machineCount: 4 });
    expect(world.updatedNodes()).toHaveLength(4);
    expect(world.mostUnavailable).toBe(1);
    expect(world.violations).toEqual([]);
    expect(world.leftovers()).toEqual([]);
    expect(world.annotation(world.name(1), ANNOTATION.CURRENT_CONFIG)).toBe('c2');
  });
});
