/** Versions of the Ignition specification, parsed as strictly as by coreos/go-semver. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Pre-release and build metadata, as written. */
  readonly suffix: string;
}

const IDENTIFIER = '[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*';
const FORM = new RegExp(
  `^(\\d+)\\.(\\d+)\\.(\\d+)((?:-(?:${IDENTIFIER})?)?(?:\\+(?:${IDENTIFIER})?)?)$`,
);

/** The version, or undefined for another form than `x.y.z`. */
export function parseVersion(text: string): Version | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [, major = '', minor = '', patch = '', suffix = ''] = match;
  const numbers = [major, minor, patch].map(Number);
  if (numbers.some((number) => number > Number.MAX_SAFE_INTEGER)) return undefined;
  const [x = 0, y = 0, z = 0] = numbers;
  // A bare `-` or `+` counts as absent.
  return { major: x, minor: y, patch: z, suffix: suffix.replace(/^-?\+?$/, '') };
}

export function sameVersion(
  version: Version,
  release: { readonly major: number; readonly minor: number },
): boolean {
  return (
    version.major === release.major &&
    version.minor === release.minor &&
    version.patch === 0 &&
    version.suffix === ''
  );
}

/** Whether the version precedes the release `major.minor.0`; its pre-releases do. */
export function isBefore(
  version: Version,
  release: { readonly major: number; readonly minor: number },
): boolean {
  if (version.major !== release.major) return version.major < release.major;
  if (version.minor !== release.minor) return version.minor < release.minor;
  return version.patch === 0 && version.suffix.startsWith('-');
}
