import { printable, printableWithin } from '../../../../core/drift';

describe('printable', () => {
  it.each([
    ['control characters', '/etc/\u001b[31m\u009b31m\n', '/etc/?[31m?31m?'],
    ['what turns the direction of a line', '\u061c\u200e\u200f\u202a\u202e\u2066\u2069', '???????'],
    ['other ends of a line', 'a\u2028b\u2029c', 'a?b?c'],
    ['half a character', '\ud800/etc/\udc00\udfff', '?/etc/??'],
  ])('replaces %s', (_what, text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  it('leaves every other text as it is', () => {
    const text = '/etc/größe 日本 שלום 🚢 “x”\u00a0…';

    expect(printable(text)).toBe(text);
  });
});

describe('printableWithin', () => {
  it('cuts between two characters, within the limit', () => {
    expect(printableWithin('abc🚢', 5)).toBe('abc🚢');
    expect(printableWithin('abc🚢d', 5)).toBe('abc…');
    expect(printableWithin('ab🚢cd', 5)).toBe('ab🚢…');
  });

  it.each([0, 1, 2, 3, 4])('gives no half of a character, whatever is at the cut (%i)', (lead) => {
    const text = printableWithin(`${'a'.repeat(lead)}${'🚢'.repeat(300)}`, 512);

    expect(text).not.toMatch(/\p{Cs}/u);
    expect(text.length).toBeLessThanOrEqual(512);
    expect(text.length).toBeGreaterThanOrEqual(511);
  });
});
