/** Whatever a value holds, what it is inserted into keeps its form. */

import fc from 'fast-check';
import { parse } from 'yaml';
import { escaped } from '../../../../core/templates';
import { aControllerConfig, configsIn, FACTS, fileText, folder, lookAt } from './picture';

const ANY = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme-ascii' }));

test('a value in a unit is one word of one line, without specifiers', () => {
  fc.assert(
    fc.property(ANY, (value) => {
      const result = escaped('unit', value);
      if ('refused' in result) return;
      expect(result.text).toMatch(/^([!#&()*+,./0-9:<=>?@A-Z[\]^_a-z{|}~-]|%%)*$/);
      expect(result.text.replaceAll('%%', '%')).toBe(value);
    }),
  );
});

test('a value in a text is in one line', () => {
  fc.assert(
    fc.property(ANY, (value) => {
      const result = escaped('text', value);
      if ('text' in result) expect(result.text).toBe(value);
      else expect(value).toMatch(/[\p{Cc}\u2028\u2029]/u);
    }),
  );
});

test('a value in data comes out of the data as it was', () => {
  const yaml = "path: /etc/t\ncontents:\n  yaml:\n    k: ['{{ networkType }}']\n";
  const templates = folder({ 'all/common/base/files/t.yaml': yaml });
  fc.assert(
    fc.property(fc.stringMatching(/^[!-~]+$/), (networkType) => {
      const look = lookAt({
        templates,
        controllerConfig: aControllerConfig({ ...FACTS, networkType }),
      });
      expect(parse(fileText(configsIn(look)[0], '/etc/t') ?? '')).toEqual({ k: [networkType] });
    }),
  );
});

test.each([
  ['unit', 'a b', 'a blank'],
  ['unit', 'a\nb', 'a line break'],
  ['unit', 'a"b', 'the character "'],
  ['unit', '$A', 'the character $'],
  ['text', 'a\r', 'a line break'],
  ['data', '\u0000', 'a control character'],
] as const)('in a %s, %j is refused for %s', (kind, value, refused) => {
  expect(escaped(kind, value)).toEqual({ refused });
});
