import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { differences } from '../conformance/difference';
import { kindOf } from '../conformance/kinds';
import { runFile } from '../conformance/run-cases';

const FOLDER = join(__dirname, '../conformance/cases');

const read = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));

describe.each(readdirSync(FOLDER))('%s', (name) => {
  const file = read(name);
  test.each(
    kindOf(file)
      .cases(file)
      .map((testCase) => [testCase.name, testCase] as const),
  )('%s', async (_, testCase) => {
    const { expected, actual } = await testCase.run();
    expect(differences(expected, actual)).toEqual([]);
  });
});

describe('the runner', () => {
  test('refuses a file without any known shape', async () => {
    await expect(runFile({ cases: [{ input: {} }] })).rejects.toThrow('not a conformance file');
    await expect(runFile([])).rejects.toThrow('not a conformance file');
  });

  test.each([{}, { role: '' }, { labels: null }])(
    'gives a MachineConfig in short form no labels when it has none: %j',
    async (more) => {
      const error = 'Cannot find label in MachineConfig 20-bare';
      const input = { name: 'bare', pool: 'worker', in: [{ name: '20-bare', ...more }] };
      const file = { cases: [{ input, expected: { name: 'bare', error } }] };
      expect(await runFile(file)).toEqual({ passed: 1, failures: [] });
    },
  );

  test('names a failing case and the field that differs', async () => {
    const file = {
      cases: [
        {
          input: { name: 'one', pool: 'worker', in: [{ name: '10', role: 'worker', fips: true }] },
          expected: { name: 'one', spec: { fips: false } },
        },
      ],
    };
    const { passed, failures } = await runFile(file);
    expect(passed).toBe(0);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toContain('FAIL one');
    expect(failures[0]).toContain('$.spec.fips\n    expected false\n    got      true');
  });
});

describe('differences', () => {
  test('an absent key equals undefined and differs from null', () => {
    expect(differences({ a: undefined }, {})).toEqual([]);
    expect(differences({ a: null }, {})).toEqual([
      { path: '$.a', expected: null, actual: undefined },
    ]);
  });

  test('lists of different lengths differ at the missing index', () => {
    expect(differences([1, 2], [1])).toEqual([{ path: '$[1]', expected: 2, actual: undefined }]);
  });
});
