/**
 * A host is killed while it begins its journal, and its power is cut after its next start: the next process must
 * not rely on anything that only the killed process knew to be unsynced.
 */

import { firstBroken, runOnce, SCENARIOS, secondMoments } from './judge';

jest.setTimeout(600_000);

it.each(SCENARIOS)('is whole in $name', async (scenario) => {
  const run = await runOnce(scenario);
  const firsts = run.moments.filter(
    ({ operation: { kind, path } }) =>
      kind === 'fsync' && /\/journal\/[^/]+_applyUpdate(\/(log|pack))?$/.test(path),
  );
  const beginnings = firsts.slice(0, 6);
  expect(beginnings.length).toBe(6);
  for (const first of beginnings) {
    for (const sequel of ['finish', 'back'] as const) {
      const seconds = await secondMoments(run, first, 'killed', sequel);
      expect(await firstBroken(run, seconds, { deaths: ['synced'] })).toBeUndefined();
    }
  }
});
