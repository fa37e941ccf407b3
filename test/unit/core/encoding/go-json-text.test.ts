import { readGoJson } from '../../../../core/encoding/go-json-text';

describe('JSON as Go reads it', () => {
  test('keeps literals, the order of members and repeated ones', () => {
    const raw = '{"b":1.50,"a":[null,true],"b":"\\ud800\\u0041"}';
    expect(readGoJson(`${raw} and more`)).toEqual({
      value: {
        kind: 'object',
        raw,
        members: [
          ['b', { kind: 'number', raw: '1.50' }],
          [
            'a',
            {
              kind: 'array',
              raw: '[null,true]',
              items: [{ kind: 'null' }, { kind: 'bool', value: true }],
            },
          ],
          ['b', { kind: 'string', value: '\ufffdA' }],
        ],
      },
    });
  });

  test.each([
    ['{"a" 5}', 6, "invalid character '5' after object key"],
    ['{"a":5 5}', 8, "invalid character '5' after object key:value pair"],
    ['{a:5}', 2, "invalid character 'a' looking for beginning of object key string"],
    ['{"a":5,}', 8, "invalid character '}' looking for beginning of object key string"],
    ['{"a":[1 2]}', 9, "invalid character '2' after array element"],
    ['{"a":[1,]}', 9, "invalid character ']' looking for beginning of value"],
    ['{"a":tru}', 9, "invalid character '}' in literal true (expecting 'e')"],
    ['{"a":-x}', 7, "invalid character 'x' in numeric literal"],
    ['{"a":1.x}', 8, "invalid character 'x' after decimal point in numeric literal"],
    ['{"a":1ex}', 8, "invalid character 'x' in exponent of numeric literal"],
    ['{"a":01}', 7, "invalid character '1' after object key:value pair"],
    ['{"a":"\\x"}', 8, "invalid character 'x' in string escape code"],
    ['{"a":"\\u00g0"}', 11, "invalid character 'g' in \\u hexadecimal character escape"],
    ['{"a":"\n"}', 7, "invalid character '\\n' in string literal"],
    ["{'a':1}", 2, "invalid character '\\'' looking for beginning of object key string"],
    ['{"\u00e9":\u00e9}', 7, "invalid character '\u00c3' looking for beginning of value"],
  ])('refuses %j', (text, offset, error) => {
    expect(readGoJson(text)).toEqual({ error, offset });
  });

  test.each(['{"a":1', '{"a', '{"a":tr', '{', '[1,'])('%j ends too early', (text) => {
    expect(readGoJson(text)).toEqual({ error: 'unexpected EOF' });
  });
});
