import { join } from 'node:path';
import { type Registry, startRegistry } from '../../../tools/registry';
import { OS_VERSIONS, type OsVersion } from '../build/images';
import { digestOfTag } from '../build/oci-layout';
import { execute } from '../execute';
import type { Lifetime } from '../lifetime';
import { CONTROL_PLANE } from './network';

/** The hosts' registry settings contain it, too. */
export const REGISTRY = `${CONTROL_PLANE}:5000`;

export async function startOsRegistry(
  lifetime: Lifetime,
  directory: string,
  layout: string,
): Promise<{
  readonly registry: Registry;
  readonly images: Readonly<Record<OsVersion, string>>;
}> {
  const registry = await lifetime.own(
    () => startRegistry({ address: REGISTRY, directory: join(directory, 'registry') }),
    (started) => started.stop(),
  );
  const images: Partial<Record<OsVersion, string>> = {};
  for (const version of OS_VERSIONS) images[version] = await push(layout, version);
  return { registry, images: images as Record<OsVersion, string> };
}

/** Returns the reference with its digest. */
async function push(layout: string, tag: string): Promise<string> {
  await execute('skopeo', [
    ...['copy', '--quiet', '--dest-tls-verify=false', '--preserve-digests'],
    ...[`oci:${layout}:${tag}`, `docker://${REGISTRY}/os:${tag}`],
  ]);
  return `${REGISTRY}/os@${await digestOfTag(layout, tag)}`;
}
