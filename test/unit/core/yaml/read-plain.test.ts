import fc from 'fast-check';
import { toYaml } from '../../../../core/yaml/write-yaml';
import { readPlain } from '../../../../core/yaml/read-plain';

it.each<[string, unknown]>([
  ['', null],
  ['~', null],
  ['null', null],
  ['yes', true],
  ['On', true],
  ['off', false],
  ['n', false],
  ['0644', 420],
  ['0o644', 420],
  ['-017', -15],
  ['0x1F', 31],
  ['0b101', 5],
  ['420', 420],
  ['1_000', 1000],
  ['1.5', 1.5],
  ['1e3', 1000],
  ['08', 8],
  ['.5', 0.5],
  ['.inf', Infinity],
  ['-.Inf', -Infinity],
  ['22:22', '22:22'],
  ['2001-12-14', '2001-12-14'],
  ['3.5.0', '3.5.0'],
  ['yES', 'yES'],
  ['worker', 'worker'],
  ['/etc/x', '/etc/x'],
])('%j is %j', (text, value) => {
  expect(readPlain(text)).toEqual(value);
});

it('reads back every text that the writer leaves unquoted as that text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii', minLength: 1 }), (text) => {
      const written = toYaml({ a: text }).slice(3).trimEnd();
      if (written !== text) return;
      expect(readPlain(text)).toBe(text);
    }),
  );
});
