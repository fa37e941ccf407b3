/** 30 nodes under load, with random strikes from a seed; `npm run faults` runs more seeds. */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { markOf } from '../e2e/support/judgements';
import { START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { BoundaryWatch } from './support/boundaries';
import { campaign, pick, randomFrom } from './support/campaign';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { BLOWS, PATIENCE_MS, strike, VICTIMS } from './support/strike';

const STORY_MS = 900_000;
/** Of Nodes, between two strikes. */
const QUIET_CHANGES = 25;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 30 },
    temporalDatabase: true,
    patienceMs: PATIENCE_MS,
    maxUnavailable: 6,
    policy: { canary: { nodes: 1 }, failureThreshold: 1, verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0.1,
      applySeconds: 0.3,
      rebootSeconds: 1,
      jitter: 0.4,
      failures: [],
    },
    workloads: [
      { app: 'cart', replicas: 12, minAvailable: 9, terminationMs: 300 },
      { app: 'frontend', replicas: 20, minAvailable: 14, terminationMs: 300 },
    ],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const { seed, rounds } = campaign();
const seeds = Array.from({ length: Math.max(1, rounds) }, (_, index) => seed + index);

test.each(seeds)(
  '30 nodes, struck at random (seed %i)',
  async (from) => {
    const random = randomFrom(from);
    const mark = markOf(world.record);
    const config = await world.roll(
      machineConfig('50-random', {
        kernelArguments: [`seed=${from}`],
        files: [plainFile('/etc/random.conf', String(from))],
      }),
    );
    const watch = new BoundaryWatch(world, config);
    const struck: object[] = [];
    for (;;) {
      const seen = markOf(world.record);
      const wait = 1 + Math.floor(random() * QUIET_CHANGES);
      await world.until(
        `${wait} changes, or the end`,
        () => watch.isOver() || markOf(world.record) - seen >= wait,
      );
      if (watch.isOver()) break;
      const one = { victim: pick(random, VICTIMS), blow: pick(random, BLOWS) };
      await strike(world.stack, one.victim, one.blow);
      struck.push(one);
    }
    await expectRest(world, config, mark);
    for (const one of struck) tally('rollout', { seed: from, ...one });
    expect(struck.length).toBeGreaterThan(0);
  },
  STORY_MS,
);
