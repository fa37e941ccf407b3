import { Product, type Planted } from './planted-product';
import { PLANTS, type Plant } from './plants';
import { runSeed } from './run-seed';
import { stormyScenario, type Scenario } from './scenario';

/** Without a bug these seeds are at rest long before: each is run without it, too. */
const horizonMs = 2 * 3_600_000;

let product: Product;

interface Found {
  /** Which invariants the first seed breaks that breaks any; none = the bug was not found. */
  readonly broken: readonly string[];
  /** What was run for that. */
  readonly scenarios: readonly Scenario[];
}

async function find(plant: Plant): Promise<Found> {
  const found = await product.with(plant);
  const scenarios: Scenario[] = [];
  for (let seed = plant.seed; seed < plant.seed + plant.within; seed += 1) {
    const scenario = scenarioFor(plant, seed);
    scenarios.push(scenario);
    const { violations } = await runSeed(seed, { ...found, scenario, horizonMs });
    if (violations.length > 0) {
      return { broken: violations.map(({ invariant }) => invariant), scenarios };
    }
  }
  return { broken: [], scenarios };
}

function scenarioFor({ storm, plain, unedited }: Plant, seed: number): Scenario {
  const drawn = stormyScenario(seed, { storm, plain });
  return unedited === true ? { ...drawn, edits: 0 } : drawn;
}

/** By all that was drawn: bugs that are looked for in the same runs share those without a bug. */
const withoutBug = new Map<string, Promise<readonly string[]>>();

/** What the same runs break without any bug: whoever finds a bug in them may have found that. */
async function brokenWithoutBug(
  scenarios: readonly Scenario[],
  within = horizonMs,
): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const scenario of scenarios) {
    const key = JSON.stringify([scenario, within]);
    const told = withoutBug.get(key) ?? brokenIn(product.sound, scenario, within);
    withoutBug.set(key, told);
    broken.push(...(await told));
  }
  return broken;
}

/** What they break where only the guard is gone that stands behind the bug. */
async function brokenWithoutGuard(
  plant: Plant,
  scenarios: readonly Scenario[],
): Promise<readonly string[]> {
  const unguarded = await product.withoutGuard(plant);
  if (unguarded === undefined) return [];
  const broken: string[] = [];
  for (const scenario of scenarios) broken.push(...(await brokenIn(unguarded, scenario)));
  return broken;
}

async function brokenIn(
  what: Planted,
  scenario: Scenario,
  within = horizonMs,
): Promise<readonly string[]> {
  const { seed } = scenario;
  const { violations } = await runSeed(seed, { ...what, scenario, horizonMs: within });
  return violations.map(({ invariant, what }) => `${seed} breaks ${invariant}: ${what}`);
}

/** Each plant is found, and the runs that find it break nothing without it. */
export function describePlants(plants: readonly Plant[]): void {
  describe('a bug that is put in on purpose', () => {
    beforeAll(async () => {
      product = await Product.read();
    }, 180_000);

    it.each(plants.map((plant) => [plant.bug, plant] as const))(
      'is found, and nothing without it: %s',
      async (_bug, plant) => {
        const { broken, scenarios } = await find(plant);

        expect(broken).toContain(plant.breaks);
        expect(await brokenWithoutBug(scenarios)).toEqual([]);
        expect(await brokenWithoutGuard(plant, scenarios)).toEqual([]);
      },
      600_000,
    );

    it('is not found where a run breaks something without it, as one does that is given no time', async () => {
      const scenario = stormyScenario(3, { plain: true });

      expect(await brokenWithoutBug([scenario], 0)).toEqual([
        expect.stringMatching(/^3 breaks I6: in fine weather it does not end/),
      ]);
    }, 600_000);

    it('has its text in the product exactly once, each of them', () => {
      for (const plant of PLANTS) expect(() => product.textsOf(plant)).not.toThrow();
    });

    it.each([undefined, 'core/rollout/grants.ts'])(
      'is refused when its text is not there any more: %s',
      (file) => {
        const change = {
          from: 'text that is nowhere',
          to: '',
          ...(file === undefined ? {} : { file }),
        };
        const stale: Plant = { bug: 'of another time', breaks: 'I1', seed: 1, within: 1, change };

        expect(() => product.textsOf(stale)).toThrow(/"of another time" is stale/);
      },
    );
  });
}
