import { mirrorsIn } from '../../hosts/build/debian';

describe('the mirror that hosts are made from', () => {
  it.each([
    ['a line', 'deb http://mirror.test/debian stable main contrib\n'],
    ['a line with options', 'deb [arch=amd64] http://mirror.test/debian stable main\n'],
    [
      'a paragraph',
      'Types: deb\n# a comment\nURIs: http://mirror.test/debian\nSuites: stable stable-updates\nComponents: main\n',
    ],
  ])('is read from %s', (_form, text) => {
    expect(mirrorsIn(text, 'stable')).toEqual(['http://mirror.test/debian']);
  });

  it.each([
    ['another suite', 'deb http://mirror.test/debian stable-security main\n'],
    ['sources', 'deb-src http://mirror.test/debian stable main\n'],
    ['other components', 'deb http://mirror.test/sdk stable sdk\n'],
    ['a comment', '# deb http://mirror.test/debian stable main\n'],
    [
      'a paragraph of another suite',
      'Types: deb\nURIs: http://mirror.test/debian\nSuites: stable-security\nComponents: main\n',
    ],
  ])('is none for %s', (_form, text) => {
    expect(mirrorsIn(text, 'stable')).toEqual([]);
  });
});
