import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { toYaml, type YamlValue } from '../../../../core/yaml/write-yaml';

const FILE = join(__dirname, '../../../fixtures/render/yaml.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  cases: readonly { readonly value: YamlValue; readonly yaml: string }[];
};

test.each(cases.map((observed, i) => [i, observed] as const))(
  'what go-yaml was observed to write: %i',
  (_, { value, yaml }) => {
    expect(toYaml(value)).toBe(yaml);
  },
);

describe('strings that another reader would not take for strings are quoted', () => {
  const words =
    'y No ON off ~ null True .inf -.INF .NaN 0x1f 0b1 0o7 012 089 1_000 1e3 .5 1. +1 -0';
  test.each([...words.split(' '), '2001-1-2', '2001-12-14T21:59:43Z', '12:30:45', ''])(
    '%j',
    (text) => {
      expect(toYaml(text)).toBe(`"${text}"\n`);
    },
  );

  const plain = 'nope yess 0x 0xg 1e999 2001-13-1 2001-02-30 1.2.3 - v1 /etc/a data:,1';
  test.each(plain.split(' ').filter((text) => text !== '-'))('but not %j', (text) => {
    expect(toYaml(text)).toBe(`${text}\n`);
  });
});

describe('what cannot be written', () => {
  test('control characters', () => {
    expect(() => toYaml('a\u007fb')).toThrow('yaml: control characters are not allowed');
  });

  test('fractions', () => {
    expect(() => toYaml({ a: 1.5 })).toThrow('only integers');
  });

  test('keys that are no words', () => {
    expect(() => toYaml({ 'a\nb': 1 })).toThrow('cannot be written on one line');
  });
});

test('a next-line character folds as a line break does in YAML', () => {
  expect(toYaml('a  \u0085  b')).toBe('a b\n');
  expect(toYaml('a\u0085\u0085b')).toBe('|-\n  a\n  b\n');
});

test('absent keys are left out', () => {
  expect(toYaml({ a: undefined, b: null })).toBe('b: null\n');
});
