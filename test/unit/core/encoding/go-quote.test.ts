import { goQuote, goQuoteRune } from '../../../../core/encoding/go-quote';

describe('quoting as Go does', () => {
  it.each([
    ['plain', '"plain"'],
    ['say "hi" \\ bye', '"say \\"hi\\" \\\\ bye"'],
    ['a\tb\nc\r', '"a\\tb\\nc\\r"'],
    ['\u0007\b\f\v', '"\\a\\b\\f\\v"'],
    ['\u0000\u001b\u007f', '"\\x00\\x1b\\x7f"'],
    ['é ☃ 世界', '"é ☃ 世界"'],
    ['\u00a0\u200b', '"\\u00a0\\u200b"'],
    ['\u{1f600}', '"\u{1f600}"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ])('%j', (text, expected) => {
    expect(goQuote(text)).toBe(expected);
  });

  it.each([
    ['a', "'a'"],
    ["'", "'\\''"],
    ['"', `'"'`],
    ['\n', "'\\n'"],
    ['\u0000', "'\\x00'"],
  ])('the character %j', (character, expected) => {
    expect(goQuoteRune(character)).toBe(expected);
  });
});
