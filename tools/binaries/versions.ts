/** Major, minor, patch. */
type Version = readonly [number, number, number];

/** In a text such as `etcd Version: 3.6.16`; a missing patch is 0. */
export function parseVersion(text: string): Version | undefined {
  const match = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)];
}

/** Negative when `left` is older; an unknown version is older than any. */
export function compareVersions(left: Version | undefined, right: Version | undefined): number {
  if (left === undefined || right === undefined) {
    return Number(left !== undefined) - Number(right !== undefined);
  }
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

/** Same major and minor, and no older patch: flags and defaults change between minor versions. */
export function isCompatible(found: Version | undefined, pinned: Version | undefined): boolean {
  if (found === undefined || pinned === undefined) return false;
  return found[0] === pinned[0] && found[1] === pinned[1] && found[2] >= pinned[2];
}
