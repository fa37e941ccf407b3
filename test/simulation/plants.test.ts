import { PLANTS, planted, type Plant } from './plants';
import { readableBundle } from './readable-bundle';
import { runSeed } from './run';
import { stormyScenario } from './scenario';
import { Sandbox } from './temporal/sandbox';

/** Without a bug these seeds are at rest long before. */
const horizonMs = 2 * 3_600_000;

let bundle: string;
beforeAll(async () => {
  bundle = await readableBundle();
}, 180_000);

/** Which invariants the first seed breaks that breaks any; none = the bug was not found. */
async function find(plant: Plant): Promise<readonly string[]> {
  const sandbox = await Sandbox.load(planted(bundle, plant), `/planted/${plant.seed}.js`);
  for (let tried = 1; tried <= plant.within; tried += 1) {
    const seed = plant.seed + tried - 1;
    const { activities: plants = {}, storm, plain, unedited } = plant;
    const drawn = stormyScenario(seed, { storm, plain });
    const scenario = unedited === true ? { ...drawn, edits: 0 } : drawn;
    const { violations } = await runSeed(seed, { sandbox, plants, scenario, horizonMs });
    if (violations.length > 0) {
      return violations.map(({ invariant }) => invariant);
    }
  }
  return [];
}

describe('a bug that is put in on purpose', () => {
  it.each(PLANTS.map((plant) => [plant.bug, plant] as const))(
    'is found: %s',
    async (_bug, plant) => {
      await expect(find(plant)).resolves.toContain(plant.breaks);
    },
    600_000,
  );

  it('is refused when its text is not in the workflows any more', () => {
    const stale: Plant = {
      ...{ bug: 'of another time', breaks: 'I1' },
      seed: 1,
      within: 1,
      change: { from: 'text that is nowhere', to: '' },
    };

    expect(() => planted(bundle, stale)).toThrow(/"of another time" is stale/);
  });
});
