import { parse as parseToml } from 'smol-toml';

import {
  readToml,
  tomlEntry,
  tomlTable,
  tomlTables,
  toToml,
  type TomlFields,
} from '../../../../core/toml';

const port = { parseToml };

describe('TOML as BurntSushi writes it', () => {
  it('has entries before tables, and a blank line before those of the first level', () => {
    const document = [
      ...tomlTable('late', tomlEntry('n', 10n)),
      ...tomlTables('entry', [
        [...tomlTables('inner', [tomlEntry('a', 'x')]), ...tomlEntry('flag', true)],
        [],
      ]),
      ...tomlEntry('first', ['a', 'b']),
      ...tomlEntry('left-out', undefined),
      ...tomlEntry('none', []),
    ];
    expect(toToml(document)).toBe(
      'first = ["a", "b"]\nnone = []\n\n[late]\n  n = 10\n\n[[entry]]\n  flag = true\n\n' +
        '  [[entry.inner]]\n    a = "x"\n\n[[entry]]\n',
    );
  });

  it('begins without a blank line, and nests tables without one', () => {
    expect(toToml(tomlTable('a', tomlTable('b c', tomlEntry('d', 1))))).toBe(
      '[a]\n  [a."b c"]\n    d = 1\n',
    );
  });

  it('escapes quotes, backslashes and control characters', () => {
    expect(toToml(tomlEntry('a', '"\\\b\t\n\f\r\u0001\u007fé'))).toBe(
      'a = "\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u007fé"\n',
    );
  });
});

describe('reading TOML', () => {
  it('finds keys in any case, the exact one first', () => {
    const read = (text: string) => readToml(text, port, (fields) => fields.text('size'));
    expect(read('SIZE = "1"')).toBe('1');
    expect(read('SIZE = "1"\nsize = "2"')).toBe('2');
    expect(read('other = 1')).toBeUndefined();
  });

  it.each([
    ['[[registry\n', "line 2: expected '.' or ']' to end table name, but got '\\n' instead"],
    ['[a.b', "line 1: expected '.' or ']' to end table name, but got '\\x00' instead"],
    [
      'ok = 1\n[t]\n[[s x]]\n',
      "line 3 (last key \"t\"): expected '.' or ']' to end table name, but got 'x' instead",
    ],
    ['[[a]\n', "line 2: expected end of table array name delimiter ']', but got '\\n' instead"],
    ['a\n', "line 1: expected '.' or '=', but got '\\n' instead"],
    ['a.b', "line 1: unexpected EOF; expected key separator '='"],
  ])('says what is wrong with %j in the words of BurntSushi', (text, fault) => {
    expect(() => readToml(text, port, () => undefined)).toThrow(`toml: ${fault}`);
  });

  it.each<[string, string, string, (fields: TomlFields) => unknown]>([
    ['a = 1', 'integer', 'string', (fields) => fields.text('a')],
    ['a = "x"', 'string', 'boolean', (fields) => fields.flag('a')],
    ['a = -1', 'integer', 'integer', (fields) => fields.size('a')],
    ['a = {}', 'map[string]any', 'slice', (fields) => fields.texts('a')],
    ['a = []', '[]any', 'map', (fields) => fields.textTable('a')],
  ])('refuses the value of %j', (text, found, expected, read) => {
    expect(() => readToml(text, port, read)).toThrow(
      `toml: (last key "a"): incompatible types: TOML value has type ${found}; destination has type ${expected}`,
    );
  });
});
