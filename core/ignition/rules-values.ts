/**
 * Rules about single values: paths, modes, URLs, hashes, names. Each returns a finding or
 * undefined.
 */

import { dataUrlError } from '../encoding/data-url';
import { parseGoUrl, queryValues, type GoUrl } from '../encoding/go-url';
import { FINDING } from './rules-text';
import type { Minor } from './schema-v3';

/**
 * An empty, `.` or `..` part, or a trailing slash: an absolute path that `cleanPath` would change.
 */
const DIRTY = /\/\/|\/\.\.?(?:\/|$)|.\/$/;

export function pathRule(path: string): string | undefined {
  if (path === '') return FINDING.NO_PATH;
  if (!path.startsWith('/')) return FINDING.RELATIVE_PATH;
  return DIRTY.test(path) ? FINDING.DIRTY_PATH : undefined;
}

export function modeRule(mode: number | undefined): string | undefined {
  return mode !== undefined && (mode < 0 || mode > 0o7777) ? FINDING.MODE : undefined;
}

export function specialBitsRule(mode: number | undefined): string | undefined {
  return mode !== undefined && (mode & 0o7000) !== 0 ? FINDING.MODE_SPECIAL_BITS : undefined;
}

/** Go's `path.Ext`. */
export function extension(name: string): string {
  const base = name.slice(name.lastIndexOf('/') + 1);
  const dot = base.lastIndexOf('.');
  return dot < 0 ? '' : base.slice(dot);
}

const UNIT_EXTENSIONS = new Set(
  'service socket device mount automount swap target path timer snapshot slice scope'
    .split(' ')
    .map((name) => `.${name}`),
);

export function unitNameRule(name: string): string | undefined {
  return UNIT_EXTENSIONS.has(extension(name)) ? undefined : FINDING.UNIT_NAME;
}

export function urlRule(url: string, minor: Minor): string | undefined {
  const parsed = parseGoUrl(url);
  if (parsed === undefined) return FINDING.URL;
  switch (parsed.scheme) {
    case 'http':
    case 'https':
    case 'tftp':
      return undefined;
    case 'gs':
      return minor >= 2 ? undefined : FINDING.SCHEME;
    case 's3':
      return s3VersionRule(parsed);
    case 'arn':
      return minor >= 4 ? arnRule(parsed) : FINDING.SCHEME;
    case 'data':
      return dataUrlError(url);
    default:
      return FINDING.SCHEME;
  }
}

export function optionalUrlRule(url: string | undefined, minor: Minor): string | undefined {
  return url === undefined || url === '' ? undefined : urlRule(url, minor);
}

export function requiredUrlRule(url: string | undefined, minor: Minor): string | undefined {
  return url === undefined || url === '' ? FINDING.SOURCE_REQUIRED : urlRule(url, minor);
}

function s3VersionRule(url: GoUrl): string | undefined {
  const [version] = queryValues(url.rawQuery, 'versionId');
  return version === '' ? FINDING.S3_VERSION : undefined;
}

function arnRule(url: GoUrl): string | undefined {
  const arn = `arn:${url.opaque}`;
  const [, , service, , , ...resource] = arn.split(':');
  if (resource.length === 0 || service !== 's3') return FINDING.S3_ARN;
  const segments = arn.split('/').length;
  const least = resource.join(':').startsWith('accesspoint/') ? 3 : 2;
  return segments < least ? FINDING.S3_ARN : s3VersionRule(url);
}

export function hashRule(hash: string | undefined, minor: Minor): string | undefined {
  if (hash === undefined) return undefined;
  const dash = hash.indexOf('-');
  if (dash < 0) return FINDING.HASH_FORM;
  const lengths: Record<string, number> =
    minor >= 1 ? { sha512: 128, sha256: 64 } : { sha512: 128 };
  const name = hash.slice(0, dash);
  const length = Object.hasOwn(lengths, name) ? lengths[name] : undefined;
  if (length === undefined) return FINDING.HASH_FUNCTION;
  return Buffer.byteLength(hash.slice(dash + 1)) === length ? undefined : FINDING.HASH_SIZE;
}

/** Longest filesystem labels in bytes, by format. */
const LABEL_LENGTHS: Readonly<Record<string, number>> = {
  ext4: 16,
  btrfs: 256,
  xfs: 12,
  swap: 15,
  vfat: 11,
};

export function filesystemLabelRule(
  label: string | undefined,
  format: string | undefined,
): string | undefined {
  if (label === undefined || label === '') return undefined;
  if (format === undefined || format === '') return FINDING.FORMAT_FOR_LABEL;
  const length = LABEL_LENGTHS[format];
  if (length === undefined || Buffer.byteLength(label) <= length) return undefined;
  return `filesystem labels cannot be longer than ${length} characters when using ${format}`;
}

export function guidRule(guid: string | undefined): string | undefined {
  const form = /^(|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/;
  return guid === undefined || form.test(guid) ? undefined : FINDING.GUID;
}

export function partitionLabelRule(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  if (Buffer.byteLength(label) > 36) return FINDING.PARTITION_LABEL_LENGTH;
  return label.includes(':') ? FINDING.PARTITION_LABEL_COLON : undefined;
}
