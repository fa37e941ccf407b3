import {
  ENABLED,
  expectSameAfterEach,
  FILE_ORIGINALS,
  FILES,
  LINK,
  MASKED,
  UNIT_ORIGINALS,
  UNITS,
  without,
  type Entries,
  type Originals,
} from '../../unit/host/update/entries';

/** A hundred updates and more in each. */
const LIMIT_MS = 300_000;

function entriesOver(entries: Entries, originals: Originals): void {
  it.each(Object.entries(originals))(
    'over %s',
    (_what, furnish) => expectSameAfterEach(entries, furnish),
    LIMIT_MS,
  );
}

describe('a file', () => {
  entriesOver(FILES, FILE_ORIGINALS);
  // Nothing can be appended to a link.
  entriesOver(without(FILES, 'appended'), LINK);
});

describe('a unit', () => {
  entriesOver(UNITS, UNIT_ORIGINALS);
  entriesOver(without(UNITS, 'no mask'), MASKED);
});

describe('a unit that is there already', () => {
  entriesOver(ENABLED, without(UNIT_ORIGINALS, 'nothing'));
});
