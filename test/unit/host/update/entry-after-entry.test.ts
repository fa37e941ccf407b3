/** A part of what test/integration/host/entry-after-entry.all.test.ts does with all entries. */

import { sampleOf } from '../../../support/sample';
import { expectSameAfterEach, FILE_ORIGINALS, FILES, UNIT_ORIGINALS, UNITS } from './entries';

const SOME = 2;

describe.each([
  ['a file', FILES, FILE_ORIGINALS],
  ['a unit', UNITS, UNIT_ORIGINALS],
])('%s', (what, all, originals) => {
  it('is the same after each other entry', async () => {
    const nameOf = ([name]: readonly [string, unknown]): string => name;
    const entries = sampleOf(`entries for ${what}`, Object.entries(all), SOME, nameOf);
    const over = sampleOf(`over what, for ${what}`, Object.entries(originals), 1, nameOf);

    for (const [, furnish] of over) {
      await expectSameAfterEach(Object.fromEntries(entries), furnish);
    }
  });
});
