import { compareVersions, isCompatible, parseVersion } from '../../../../tools/binaries/versions';

describe('parseVersion', () => {
  it.each([
    ['etcd Version: 3.6.16\nGit SHA: Not provided', [3, 6, 16]],
    ['Kubernetes v1.36.3', [1, 36, 3]],
    ['temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)', [1, 8, 2]],
    ['go1.26', [1, 26, 0]],
    ['devel', undefined],
  ])('reads %j', (text, expected) => {
    expect(parseVersion(text)).toEqual(expected);
  });
});

describe('isCompatible', () => {
  it.each([
    ['1.36.3', '1.36.3', true],
    ['1.36.9', '1.36.3', true],
    ['1.36.2', '1.36.3', false],
    ['1.37.3', '1.36.3', false],
    ['2.36.3', '1.36.3', false],
    ['unknown', '1.36.3', false],
  ])('%s for %s: %s', (found, pinned, expected) => {
    expect(isCompatible(parseVersion(found), parseVersion(pinned))).toBe(expected);
  });
});

describe('compareVersions', () => {
  it('orders by number, not by text', () => {
    const versions = ['1.26.4', '1.9.10', '1.26.10'].map(parseVersion);

    const sorted = [...versions].sort(compareVersions);

    expect(sorted).toEqual([parseVersion('1.9.10'), parseVersion('1.26.4'), [1, 26, 10]]);
  });

  it('takes an unknown version for older than any', () => {
    expect(compareVersions(undefined, [0, 0, 1])).toBeLessThan(0);
    expect(compareVersions([0, 0, 1], undefined)).toBeGreaterThan(0);
  });
});
