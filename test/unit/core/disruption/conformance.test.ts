import { readFileSync } from 'node:fs';
import path from 'node:path';

import { daemonDiffKind } from '../../../conformance/daemon-diff';

const file: unknown = JSON.parse(
  readFileSync(
    path.join(__dirname, '../../../conformance/cases/daemon-diff-actions-drain-kargs.json'),
    'utf8',
  ),
);

describe('what MCO answers about diffs, actions, drains and kernel arguments', () => {
  it('recognises its own file and no other', () => {
    expect(daemonDiffKind.matches(file)).toBe(true);
    expect(daemonDiffKind.matches({ cases: [{ input: {}, expected: { drain: true } }] })).toBe(
      false,
    );
  });

  it.each(daemonDiffKind.cases(file))('$name', async ({ run }) => {
    const { expected, actual } = await run();
    expect(actual).toEqual(expected);
  });
});
