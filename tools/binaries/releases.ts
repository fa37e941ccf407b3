import { basename } from 'node:path';
import { ChecksumFormat, type BinarySource } from './catalogue';
import type { BinarySettings, Platform } from './settings';

export interface ReleaseDownload {
  readonly url: string;
  readonly fileName: string;
  readonly checksumUrl: string;
  readonly checksumFormat: ChecksumFormat;
  /** In a tar.gz; absent = the file is the program. */
  readonly member: string | undefined;
}

/** Undefined when there is none for this platform. */
export function releaseFor(
  source: BinarySource,
  settings: Pick<BinarySettings, 'platform' | 'releaseHosts'>,
): ReleaseDownload | undefined {
  const { release, version } = source;
  const { platform, releaseHosts } = settings;
  if (release?.systems.includes(platform.os) !== true) return undefined;
  const path = fillIn(release.path, version, platform);
  return {
    url: releaseHosts[release.host] + path,
    fileName: basename(path),
    checksumUrl:
      releaseHosts[release.checksum.host] + fillIn(release.checksum.path, version, platform),
    checksumFormat: release.checksum.format,
    member: release.member === undefined ? undefined : fillIn(release.member, version, platform),
  };
}

function fillIn(template: string, version: string, platform: Platform): string {
  return template
    .replaceAll('{version}', version)
    .replaceAll('{os}', platform.os)
    .replaceAll('{arch}', platform.arch)
    .replaceAll('{machine}', MACHINES[platform.arch] ?? platform.arch);
}

/** GNU's names. */
const MACHINES: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

/** Lower-case hex; undefined when the publisher's text has no checksum for this file. */
export function findChecksum(
  format: ChecksumFormat,
  text: string,
  fileName: string,
): string | undefined {
  switch (format) {
    case ChecksumFormat.DIGEST:
      return asDigest(text.trim().split(/\s+/)[0]);
    case ChecksumFormat.LIST:
      return findInList(text, fileName);
    case ChecksumFormat.GITHUB_ASSETS:
      return findInAssets(text, fileName);
  }
}

function findInList(text: string, fileName: string): string | undefined {
  for (const line of text.split('\n')) {
    // sha256sum marks binary mode with a star before the name.
    const [digest, name] = line.trim().split(/\s+/);
    if (name?.replace(/^\*/, '') === fileName) return asDigest(digest);
  }
  return undefined;
}

function findInAssets(text: string, fileName: string): string | undefined {
  const release: unknown = JSON.parse(text);
  if (typeof release !== 'object' || release === null || !('assets' in release)) return undefined;
  const assets: readonly unknown[] = Array.isArray(release.assets) ? release.assets : [];
  for (const asset of assets) {
    if (typeof asset !== 'object' || asset === null || !('name' in asset)) continue;
    if (asset.name !== fileName || !('digest' in asset)) continue;
    const match = /^sha256:(.+)$/.exec(String(asset.digest));
    return asDigest(match?.[1]);
  }
  return undefined;
}

function asDigest(text: string | undefined): string | undefined {
  const digest = text?.toLowerCase();
  return digest !== undefined && /^[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}
