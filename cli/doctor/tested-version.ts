/**
 * By major and minor number, as `1.36` and `v1.36.3`.
 *
 * @returns a sentence; undefined = it is not older
 */
export function olderThan(tested: string, version: string): string | undefined {
  const says = `${version} is older than ${tested}, with which Slipway is tested`;
  return orderOf(version) < orderOf(tested) ? says : undefined;
}

function orderOf(version: string): number {
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) * 1000 + Number(minor);
}
