/**
 * The version of the specification for a machine, by its `Accept` header.
 *
 * @see MCO pkg/server/api.go (7ff337a4), detectSpecVersionFromAcceptHeader
 */

import type { OutputVersion } from './convert-down';
import { isBefore, parseVersion, type Version } from './semver';

type ServedVersion =
  | { readonly version: OutputVersion }
  /** `unsupported`: an unknown version. `untranslatable`: 3.0, which can only be read. */
  | { readonly refused: 'unsupported' | 'untranslatable' };

/** For clients that do not name Ignition: a browser, curl, the first versions of Ignition. */
const DEFAULT: ServedVersion = { version: '2.2' };
const NEWEST_MINOR = 5;
const SUBTYPE = 'vnd.coreos.ignition+json';

/**
 * The first version that can be served, of the entries that name Ignition and a version, in order
 * of their quality. Without such an entry 2.2.
 *
 * @param accept - the header's value; undefined = there is none
 */
export function servedVersion(accept: string | undefined): ServedVersion {
  let seen = false;
  for (const { subtype, version } of readAccept(accept ?? '')) {
    if (subtype !== SUBTYPE || version === undefined) continue;
    seen = true;
    const served = answerTo(version);
    if (served !== undefined) return served;
  }
  return seen ? { refused: 'unsupported' } : DEFAULT;
}

function answerTo(version: Version): ServedVersion | undefined {
  if (!isBefore(version, { major: 2, minor: 2 }) && isBefore(version, { major: 3, minor: 0 })) {
    return DEFAULT;
  }
  if (version.major === 2 && version.minor === 2) return DEFAULT;
  if (version.major === 3 && version.minor === 0) return { refused: 'untranslatable' };
  if (version.major === 3 && version.minor <= NEWEST_MINOR) {
    return { version: `3.${version.minor}` as OutputVersion };
  }
  const isNewer = version.major >= 3 && isBefore(version, { major: 4, minor: 0 });
  return isNewer ? { version: `3.${NEWEST_MINOR}` } : undefined;
}

interface Entry {
  readonly subtype: string;
  readonly version: Version | undefined;
  readonly quality: number;
}

/**
 * Entries by falling quality; entries that are no media type, and invalid parameters, are skipped.
 */
function readAccept(accept: string): readonly Entry[] {
  const entries = accept.split(',').flatMap((text): Entry[] => {
    const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
    const slash = type.indexOf('/');
    if (slash < 0) return [];
    const pairs = parameters.flatMap((parameter): [string, string][] => {
      const at = parameter.indexOf('=');
      return at < 0 ? [] : [[parameter.slice(0, at), parameter.slice(at + 1)]];
    });
    return [
      {
        subtype: type.slice(slash + 1),
        version: first(pairs, 'version', parseVersion),
        quality: first(pairs, 'q', readQuality) ?? 1,
      },
    ];
  });
  return entries.sort((a, b) => b.quality - a.quality);
}

/** The first parameter of the name with a valid value. */
function first<T>(
  pairs: readonly (readonly [string, string])[],
  name: string,
  read: (value: string) => T | undefined,
): T | undefined {
  for (const [key, value] of pairs) {
    const found = key === name ? read(value) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A decimal number in single precision, of any size and sign. */
function readQuality(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return undefined;
  const quality = Math.fround(Number(text));
  return Number.isFinite(quality) ? quality : undefined;
}
