import { readFileSync } from 'node:fs';
import path from 'node:path';

import { candidatesKind } from '../../../conformance/candidates';
import { describeDifference, differences } from '../../../conformance/difference';

const file: unknown = JSON.parse(
  readFileSync(
    path.join(__dirname, '../../../conformance/cases/node-candidates-status.json'),
    'utf8',
  ),
);

describe('observed answers of MCO: candidates and pool status', () => {
  it('is recognised by content', () => {
    expect(candidatesKind.matches(file)).toBe(true);
    expect(candidatesKind.matches({ cases: [{ input: {}, expected: { diff: '' } }] })).toBe(false);
  });

  it.each(candidatesKind.cases(file).map((entry) => [entry.name, entry] as const))(
    '%s',
    async (_name, entry) => {
      const { expected, actual } = await entry.run();

      expect(differences(expected, actual).map(describeDifference)).toEqual([]);
    },
  );
});
