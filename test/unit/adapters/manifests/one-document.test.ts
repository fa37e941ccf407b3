import { readYamlDocument } from '../../../../adapters/manifests';

describe('one document of YAML', () => {
  test.each([
    ['', null],
    ['# nothing', null],
    ['a: 1\n---\na: 2\n', { a: 1 }],
    ['"text"', 'text'],
    ['a: 9223372036854775807', { a: 9223372036854775807n }],
    ['a: 18446744073709551616', { a: 18446744073709551616 }],
    ['a: +9_007_199_254_740_993', { a: 9007199254740993n }],
    ['{"a": -9223372036854775808}', { a: -9223372036854775808n }],
  ])('%j', (text, value) => {
    expect(readYamlDocument(text)).toEqual({ value });
  });

  test('says where it is not well-formed', () => {
    expect(readYamlDocument('a: 1\nb: [')).toEqual({
      problem: expect.stringMatching(/^line \d+: /) as unknown,
    });
  });
});
