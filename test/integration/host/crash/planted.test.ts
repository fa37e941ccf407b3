/** Plants bugs in the product: some death must find each of them. */

import type { Interference } from './crash-machine';
import { RELOADED } from './configs';
import type { Death } from './enumerate';
import { withJournal, withoutSync } from './interference';
import { firstBroken, firstForgotten, type Run, runBack, runOnce } from './judge';

/** Two updates' worth of recoveries, on a busy machine. */
jest.setTimeout(600_000);

interface Planted {
  readonly bug: string;
  readonly interference: Interference;
  readonly death: Death;
  readonly way: 'there' | 'back';
  readonly symptom: RegExp;
}

const SCENARIO = { name: 'reload', config: RELOADED, reboots: false };

const PLANTED: readonly Planted[] = [
  {
    bug: 'the log of the journal is not synced',
    interference: { process: withoutSync((path) => path.endsWith('/log')) },
    death: 'synced',
    way: 'there',
    symptom: /bytes were written, 0 of them are left|not the old config/,
  },
  {
    bug: 'neither the log nor its seal is synced',
    interference: { process: withoutSync((path) => /\/(log|seal)$/.test(path)) },
    death: 'synced',
    way: 'there',
    symptom: /it has no whole first entry, and its seal, \S+, is damaged or gone/,
  },
  {
    bug: 'a file is not synced before it takes the place of another',
    interference: { process: withoutSync((path) => path.includes('/.slipway-')) },
    death: 'names',
    way: 'there',
    symptom: /differ|JSON/,
  },
  {
    bug: 'files are changed before they are written down',
    interference: {
      ports: withJournal((open) => {
        const later: string[][] = [];
        return {
          ...open,
          record: async (paths) => void later.push([...paths]),
          async mark(mark) {
            for (const paths of later.splice(0)) await open.record(paths);
            await open.mark(mark);
          },
        };
      }),
    },
    death: 'all',
    way: 'there',
    symptom: /differ/,
  },
  {
    bug: 'the undo is noted before it is done',
    interference: {
      ports: withJournal((open) => ({
        ...open,
        async undo() {
          await open.mark({ kind: 'undone', deployment: open.header.previousDeployment });
          return open.undo();
        },
      })),
    },
    death: 'killed',
    way: 'back',
    symptom: /content mismatch/,
  },
];

describe('the search for moments in which a host is neither on its old nor on its new config', () => {
  it.each(PLANTED)('finds it when $bug', async ({ interference, death, way, symptom }) => {
    const run: Run = await runOnce(SCENARIO, interference);
    const moments = way === 'there' ? run.moments : await runBack(run, 'verifyUpdate');

    expect(await firstBroken(run, moments, { deaths: [death] })).toMatch(symptom);
  });

  it('finds it when directories are not synced', async () => {
    const interference = { process: withoutSync((_path, flags) => flags === 'r') };

    expect(await firstForgotten(SCENARIO, interference)).toMatch(/differ/);
  });
});
