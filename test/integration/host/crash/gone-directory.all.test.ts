/**
 * A directory is removed with its contents between an update and its rollback. A host that dies at any operation
 * of that rollback recreates it as it was before the update, and never in between.
 */

import { CrashMachine } from './crash-machine';
import { DEATHS } from './enumerate';
import { firstBroken, type Run, runBack, runOnce, SCENARIOS, secondMoments, Seen } from './judge';

jest.setTimeout(600_000);

/** Owned by the user, with an attribute (`enumerate.ts`), a directory inside, and the keys in that. */
const DIRECTORY = '/home/core/.ssh';

/** An update after which only this directory is missing. */
function withoutDirectory(run: Run): Run {
  const start = run.moments.find(({ step }) => step === 'verifyUpdate');
  if (start === undefined) throw new Error('it is never verified');
  const machine = new CrashMachine(start.picture);
  machine.remove(DIRECTORY);
  const moments = [{ ...start, picture: machine.disk.picture() }];
  return { ...run, moments, after: machine.tree() };
}

it.each(SCENARIOS)('is whole after $name', async (scenario) => {
  const run = withoutDirectory(await runOnce(scenario));
  expect(run.before).toHaveProperty([`${DIRECTORY}/authorized_keys.d/ignition`]);
  const moments = await runBack(run, 'verifyUpdate');
  const seen = new Seen();

  expect(await firstBroken(run, moments, { deaths: DEATHS, seen })).toBeUndefined();

  process.stdout.write(`crash points without a directory: ${seen.size}\n`);
  expect(seen.size).toBeGreaterThan(moments.length);
});

it.each(SCENARIOS)(
  'is whole after $name when the power is cut after a worker that died had just made it again',
  async (scenario) => {
    const run = withoutDirectory(await runOnce(scenario));
    const moments = await runBack(run, 'verifyUpdate');
    const made = moments.findIndex(
      ({ operation: { kind, path } }) => kind === 'rename' && path.endsWith(DIRECTORY),
    );
    // The name is there, and not synced.
    const first = moments[made + 1];
    if (made < 0 || first === undefined) throw new Error('it is never made again');

    const seconds = await secondMoments(run, first, 'killed', 'finish');

    expect(seconds).not.toEqual([]);
    expect(await firstBroken(run, seconds, { deaths: ['synced'] })).toBeUndefined();
  },
);
