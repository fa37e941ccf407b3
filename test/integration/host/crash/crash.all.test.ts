/**
 * A host dies at every operation of an update and of a rollback: before it, and in the middle of each write. It
 * starts again after a kill, or after a power cut that lost everything that was not synced, or nothing, or only
 * names, or only bytes. Each time it comes to rest byte for byte on its old or on its new config, and its record
 * names that one.
 */

import { DEATHS, type Moment } from './enumerate';
import {
  firstBroken,
  firstForgotten,
  type Run,
  runBack,
  runOnce,
  SCENARIOS,
  secondMoments,
  Seen,
} from './judge';
import { seededRandom } from '../../../../adapters/simulation/pace';

jest.setTimeout(600_000);
const counts: Record<string, number> = {};
afterAll(() => {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  process.stdout.write(`crash points: ${JSON.stringify({ ...counts, total })}\n`);
});

describe.each(SCENARIOS)('$name', (scenario) => {
  let run: Run;
  beforeAll(async () => {
    run = await runOnce(scenario);
  });

  async function expectWhole(
    what: string,
    moments: readonly Moment[],
    search: Parameters<typeof firstBroken>[2] = {},
  ): Promise<void> {
    const seen = new Seen();
    expect(await firstBroken(run, moments, { ...search, seen })).toBeUndefined();
    const tried = seen.size * (search.sequels?.length ?? 1);
    counts[`${scenario.config.reference.name}: ${what}`] = tried;
    expect(tried).toBeGreaterThan(moments.length / 2);
  }

  it('is whole, whenever the host dies on the way there', async () => {
    expect(run.after).not.toEqual(run.before);
    await expectWhole('there', run.moments);
  });

  it('forgets nothing that it has answered, also when the power is cut', async () => {
    expect(await firstForgotten(scenario)).toBeUndefined();
  });

  it('is on its old config after going back, or committed, whenever it died on the way there', async () => {
    await expectWhole('there, then back', run.moments, {
      sequels: ['back'],
      deaths: ['killed', 'synced'],
    });
  });

  it('is on the new config in the end when its workflow is lost with it, and another one comes', async () => {
    const search = { sequels: ['anew'], deaths: ['killed', 'synced'] } as const;
    await expectWhole('there, then anew', run.moments, search);
    const back = await runBack(run, 'verifyUpdate');
    await expectWhole('back, then anew', back, search);
  });

  it('is on another config in the end when that is ordered after the workflow was lost', async () => {
    const search = { sequels: ['other'], deaths: ['killed', 'synced'] } as const;
    await expectWhole('there, then elsewhere', run.moments, search);
  });

  it('is on its old config, whenever it dies during rollback', async () => {
    const applied = scenario.reboots ? 'armReboot' : 'performServiceActions';
    for (const step of [applied, 'verifyUpdate'] as const) {
      await expectWhole(`back before ${step}`, await runBack(run, step));
    }
  });

  it('is whole when it dies a second time while it settles what the first one left', async () => {
    const random = seededRandom(scenario.name);
    const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)];
    const seen = new Seen();
    for (let pair = 0; pair < 50; pair += 1) {
      const first = pick(run.moments);
      const death = pick(DEATHS);
      const sequel = pick(['finish', 'back'] as const);
      if (first === undefined || death === undefined || sequel === undefined) continue;
      const second = pick(await secondMoments(run, first, death, sequel));
      if (second === undefined) continue;
      expect({ pair, broken: await firstBroken(run, [second], { seen }) }).toEqual({ pair });
    }
    counts[`${scenario.config.reference.name}: two deaths`] = seen.size;
    expect(seen.size).toBeGreaterThan(50);
  });
});
