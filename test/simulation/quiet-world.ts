import { Chance, VirtualClock } from './clock';
import { shippedSandbox } from './many-seeds';
import { scenarioOf, type PoolScenario } from './scenario';
import type { Sandbox } from './temporal/sandbox';
import { START, Trace } from './trace';
import type { SimulatedConfig } from './world/journal';
import type { ActivityPlants } from './world/plants';
import { World } from './world/world';

interface Told {
  /** How long everything takes is drawn from it. */
  readonly seed?: number;
  /** Other limits and policies than the pool has by itself. */
  readonly pool?: Partial<PoolScenario>;
  /** Several of them, each as the one above but for this; a node is moved from one to the other by hand. */
  readonly pools?: readonly Partial<PoolScenario>[];
  readonly plants?: ActivityPlants;
  /** Its workflows; absent = those that are shipped. */
  readonly sandbox?: Sandbox;
  readonly nodes?: number;
  /** Events after which a workflow is to go on in a new run. */
  readonly longHistory?: number;
}

/** A config of the pool `worker` with which nothing is wrong: every node is drained and reboots into it. */
export function rebootingConfig(number: number): SimulatedConfig {
  return {
    ...{ name: `rendered-worker-${number}`, os: `os-${number}`, drain: true },
    ...{ restartsService: false, unreconcilable: false, doesNotBoot: false },
    ...{ cutsNetwork: false, neverReady: false, unitFails: false },
  };
}

/** A pool of nodes, two unless told otherwise, that do not have its config yet, and nothing that goes wrong by itself. */
export async function quietWorld({
  seed = 1,
  pool = {},
  pools: others,
  plants = {},
  sandbox: given,
  nodes = 2,
  longHistory = 100_000,
}: Told = {}) {
  const drawn = scenarioOf(1, true);
  const calm = {
    ...{ nodes, incidents: 0, stuckPods: 0, longHistory },
    ...{ lostGrants: 0, recreated: 0, temporalAway: 0 },
    weather: { activity: 0, task: 0, memory: 0, message: 0 },
    slowWorker: false,
  };
  const [first] = drawn.pools.map((one) => ({ ...one, ...pool }));
  if (first === undefined) throw new Error('the scenario has no pool');
  const pools = others?.map((other) => ({ ...first, ...other })) ?? [first];
  const scenario = { ...drawn, ...calm, pools };
  const clock = new VirtualClock(START);
  const trace = new Trace(() => clock.now);
  const sandbox = given ?? (await shippedSandbox());
  const chance = new Chance(seed);
  const world = new World({ clock, chance, trace, sandbox, scenario, plants });
  const run = async (ms: number): Promise<void> => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    while (!isOver) await clock.step();
  };
  return { world, trace, run };
}

const PATIENCE_MS = 60 * 60_000;

/** Goes on until something holds. @throws Error when it does not within an hour */
export async function until(
  run: (ms: number) => Promise<void>,
  holds: () => boolean | Promise<boolean>,
  stepMs = 50,
): Promise<void> {
  for (let ms = 0; ms < PATIENCE_MS; ms += stepMs) {
    if (await holds()) return;
    await run(stepMs);
  }
  throw new Error('it did not come about within an hour');
}
