import { parseNamed } from '../../../../core/registries/reference';
import {
  isMirror,
  isNestedScope,
  isRegistryScope,
  isSource,
} from '../../../../core/registries/scopes';
import { topologicalOrder } from '../../../../core/registries/topological';

describe('a nested scope', () => {
  it.each([
    ['a.example.com', 'a.example.com', true],
    ['a.example.com/x/y', 'a.example.com/x', true],
    ['a.example.com/xy', 'a.example.com/x', false],
    ['a.example.com:5000', 'a.example.com', false],
    ['a.example.com:5000/x', 'a.example.com:5000', true],
    ['x.example.com/a', '*.example.com', true],
    ['x.example.com:5000', '*.example.com', true],
    ['*.x.example.com', '*.example.com', true],
    ['example.com', '*.example.com', false],
    ['other.com/x.example.com', '*.example.com', false],
    ['x.example.com/a:1', '*.example.com', false],
    ['other.com/x.example.com:1', '*.example.com', false],
  ])('%s in %s: %s', (inner, outer, expected) => {
    expect(isNestedScope(inner, outer)).toBe(expected);
  });
});

describe('places', () => {
  it.each(['a.example.com', 'a:5000/b', 'a/b-c__d.e', 'localhost'])('%s', (place) => {
    expect([isSource(place), isMirror(place)]).toEqual([true, true]);
  });

  it.each(['', 'a.example.com/', 'a/B', 'a:tag', 'a/b:1', 'https://a', 'a b', '-a', '*.a/b'])(
    'not %j',
    (text) => {
      expect([isSource(text), isMirror(text)]).toEqual([false, false]);
    },
  );

  it('are told apart at once, also a long one that is wrong at its end', () => {
    expect(isSource(`a/${'b'.repeat(10_000)}!`)).toBe(false);
  });

  it('a wildcard is a source only', () => {
    expect([isSource('*.example.com'), isMirror('*.example.com')]).toEqual([true, false]);
  });

  it.each([
    ['*.example.com', true],
    ['https://anything', true],
    ['', false],
    ['*', false],
    ['*.example.com/a', false],
    ['*.*.com', false],
    ['a.*.com', false],
  ])('an Image config may name %j: %s', (scope, expected) => {
    expect(isRegistryScope(scope)).toBe(expected);
  });
});

describe('a full reference', () => {
  const DIGEST = `sha256:${'a'.repeat(64)}`;

  it.each([
    ['a.example.com/b', 'a.example.com/b', '', ''],
    ['localhost/b:1', 'localhost/b', '1', ''],
    [`a:5000/b/c:v1@${DIGEST}`, 'a:5000/b/c', 'v1', DIGEST],
  ])('%s', (text, name, tag, digest) => {
    expect(parseNamed(text)).toEqual({ name, tag, digest });
  });

  it.each([
    ...['nginx', 'a/b', 'docker.io/nginx', 'index.docker.io/a/b', 'a.example.com/B', 'not a ref'],
    ...['a.example.com/b@sha256:abc', `a.example.com/${'x'.repeat(256)}`],
  ])('not %s', (text) => {
    expect(parseNamed(text)).toBeUndefined();
  });
});

describe('the order of names', () => {
  it.each([
    [['b c', 'a b'], 'a b c'],
    [['a c', 'b c', 'c d'], 'a b c d'],
    [['a b', 'b a', 'a s', 'b s'], 'a b s'],
    [['c a', 'a c', 'c s'], 'a c s'],
    [['a a', 'a s'], 'a s'],
    [[], ''],
  ])('%j is %s', (pairs, order) => {
    const split = pairs.map((pair) => pair.split(' ') as unknown as [string, string]);
    expect(topologicalOrder(split).join(' ')).toBe(order);
    expect(topologicalOrder([...split].reverse()).join(' ')).toBe(order);
  });
});
