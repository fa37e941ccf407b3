/**
 * Somebody removes a directory between an update and its way back, with all that was in it. A host that dies at
 * any operation of that way back makes it again all the same, as it was before the update, and never in between.
 */

import { CrashMachine } from './crash-machine';
import { DEATHS } from './enumerate';
import { firstBroken, type Run, runBack, runOnce, SCENARIOS, secondMoments, Seen } from './judge';

/** Some hundred recoveries, on a machine that may be busy. */
jest.setTimeout(600_000);

/** Of the user alone, with a label (`enumerate.ts`), with one more inside, and the keys in that. */
const DIRECTORY = '/home/core/.ssh';

/** An update after which it is gone, and of which nothing else is different. */
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
    // The name is there, and nobody has synced it.
    const first = moments[made + 1];
    if (made < 0 || first === undefined) throw new Error('it is never made again');

    const seconds = await secondMoments(run, first, 'killed', 'finish');

    expect(seconds).not.toEqual([]);
    expect(await firstBroken(run, seconds, { deaths: ['synced'] })).toBeUndefined();
  },
);
