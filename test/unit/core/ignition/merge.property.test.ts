import fc from 'fast-check';

import { encodeIgnition, mergeIgnition, type IgnitionObject } from '../../../../core/ignition';

const path = fc.constantFrom('/etc/a', '/etc/b', '/etc/c', '/etc/d');
const unitName = fc.constantFrom('a.service', 'b.service', 'c.timer');

const file = fc.record(
  {
    path,
    mode: fc.constantFrom(0o600, 0o644),
    contents: fc.record({ source: fc.constantFrom('data:,1', 'data:,2') }),
  },
  { requiredKeys: ['path'] },
);
const directory = fc.record({ path, mode: fc.constantFrom(0o755) }, { requiredKeys: ['path'] });
const unit = fc.record(
  { name: unitName, contents: fc.constantFrom('[A]\nb=c\n', ''), mask: fc.boolean() },
  { requiredKeys: ['name'] },
);
const user = fc.record(
  { name: fc.constant('core'), sshAuthorizedKeys: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')) },
  { requiredKeys: ['name'] },
);

/** Configs that a specification accepts: no path or name twice. */
const config: fc.Arbitrary<IgnitionObject> = fc
  .record({
    files: fc.uniqueArray(file, { selector: (entry) => entry.path }),
    directories: fc.uniqueArray(directory, { selector: (entry) => entry.path }),
    units: fc.uniqueArray(unit, { selector: (entry) => entry.name }),
    users: fc.uniqueArray(user, { selector: (entry) => entry.name }),
  })
  .map(({ files, directories, units, users }) => {
    const taken = new Set(files.map((entry) => entry.path));
    return {
      ignition: { version: '3.5.0' },
      passwd: { users },
      storage: { files, directories: directories.filter((entry) => !taken.has(entry.path)) },
      systemd: { units },
    };
  });

const merged = (...configs: readonly IgnitionObject[]): IgnitionObject =>
  encodeIgnition(mergeIgnition(configs));

const entries = (value: IgnitionObject, section: string, list: string): readonly IgnitionObject[] =>
  ((value[section] as IgnitionObject | undefined)?.[list] as readonly IgnitionObject[]) ?? [];

describe('merging', () => {
  test('a config merged onto itself is itself', () => {
    fc.assert(
      fc.property(config, (value) => {
        expect(merged(value, value)).toEqual(merged(value));
      }),
    );
  });

  test('merging the same config once more changes nothing', () => {
    fc.assert(
      fc.property(config, config, (parent, child) => {
        expect(merged(parent, child, child)).toEqual(merged(parent, child));
      }),
    );
  });

  test('no input is changed', () => {
    fc.assert(
      fc.property(fc.array(config, { minLength: 1, maxLength: 4 }), (configs) => {
        const before = structuredClone(configs);
        mergeIgnition(configs);
        expect(configs).toEqual(before);
      }),
    );
  });

  test('many at once are the same as one after the other', () => {
    fc.assert(
      fc.property(fc.array(config, { minLength: 1, maxLength: 5 }), (configs) => {
        const [first, ...rest] = configs;
        const stepwise = rest.reduce((sum, child) => mergeIgnition([sum, child]), first ?? {});
        expect(encodeIgnition(stepwise)).toEqual(merged(...configs));
      }),
    );
  });

  test('no path stands twice, whatever kind of node it is', () => {
    fc.assert(
      fc.property(fc.array(config, { minLength: 1, maxLength: 4 }), (configs) => {
        const result = merged(...configs);
        const paths = ['files', 'directories'].flatMap((list) =>
          entries(result, 'storage', list).map((entry) => entry['path']),
        );
        expect(new Set(paths).size).toBe(paths.length);
      }),
    );
  });

  test('scalars of the last config that sets them win', () => {
    fc.assert(
      fc.property(config, config, (parent, child) => {
        const result = merged(parent, child);
        for (const entry of entries(child, 'storage', 'files')) {
          const found = entries(result, 'storage', 'files').find(
            (f) => f['path'] === entry['path'],
          );
          expect(found).toMatchObject(entry);
        }
      }),
    );
  });
});

test('a header without a value removes the header of the parent', () => {
  const withHeaders = (...httpHeaders: readonly object[]): IgnitionObject => ({
    storage: { files: [{ path: '/etc/a', contents: { httpHeaders } }] },
  });
  const parent = withHeaders({ name: 'A', value: '1' }, { name: 'B', value: '2' });
  expect(merged(parent, withHeaders({ name: 'A' }))).toMatchObject(
    withHeaders({ name: 'B', value: '2' }),
  );
});
