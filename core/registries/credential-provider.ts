/**
 * The kubelet's credential providers with CRI-O's, which finds credentials for mirrors in the
 * namespace of a pod. No process calls it, only the conformance cases.
 */

import { formatGoDuration, goDurationOf } from '../encoding/go-duration';
import { fail } from '../errors';
import { isRecord } from '../is-record';
import { toYaml, type YamlValue } from '../yaml/write-yaml';

export interface CredentialProviders {
  /** YAML; absent = CRI-O's provider has no images to match, and the file needs no change. */
  readonly contents?: string;
  /** Patterns that another provider of the base serves; they are left out. */
  readonly conflicts: readonly string[];
}

/**
 * The base config with CRI-O's provider at the end.
 *
 * @param base - the parsed CredentialProviderConfig of the platform; undefined = there is none
 * @param matchImages - patterns of images, as `spec.matchImages` of CRIOCredentialProviderConfig
 * @throws `InvalidMachineConfig` when the base is no CredentialProviderConfig
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   updateCredentialProviderConfig
 */
export function updateCredentialProviders(
  base: unknown,
  matchImages: readonly string[],
): CredentialProviders {
  const providers = providersOf(base).filter((provider) => provider['name'] !== CRIO_PROVIDER);
  const served = providers.flatMap((provider) => textsOf(provider['matchImages']));
  const overlaps = (pattern: string): boolean =>
    served.some((other) => patternCovers(other, pattern) || patternCovers(pattern, other));
  const conflicts = matchImages.filter(overlaps);
  const own = [...new Set(matchImages.filter((pattern) => !overlaps(pattern)))].sort();
  if (own.length === 0) return { conflicts };
  const contents = toYaml({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [...providers, crioProvider(own)],
  });
  return { contents, conflicts };
}

const CRIO_PROVIDER = 'crio-credential-provider';

type Provider = { readonly [key: string]: YamlValue };

function crioProvider(matchImages: readonly string[]): Provider {
  return {
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    name: CRIO_PROVIDER,
    matchImages,
    defaultCacheDuration: '1s',
    tokenAttributes: {
      cacheType: 'Token',
      requireServiceAccount: false,
      serviceAccountTokenAudience: 'https://kubernetes.default.svc',
    },
  };
}

function providersOf(base: unknown): readonly Provider[] {
  if (base === undefined || base === null) return [];
  const providers = isRecord(base) ? base['providers'] : undefined;
  if (!isRecord(base) || base['kind'] !== 'CredentialProviderConfig') {
    throw refused('kind is not CredentialProviderConfig');
  }
  if (providers === undefined || providers === null) return [];
  if (!Array.isArray(providers)) throw refused('providers is not a list');
  return providers.map((provider: unknown, i) => {
    if (!isRecord(provider)) throw refused(`providers[${i}] is not an object`);
    return providerOf(provider, `providers[${i}]`);
  });
}

/** Its fields as the kubelet's types write them. */
function providerOf(given: Readonly<Record<string, unknown>>, path: string): Provider {
  const duration = given['defaultCacheDuration'];
  return {
    apiVersion: textOf(given['apiVersion']),
    name: textOf(given['name']),
    matchImages: textsOf(given['matchImages']),
    defaultCacheDuration: duration === undefined ? null : durationOf(duration, path),
    args: filled(textsOf(given['args'])),
    env: filled(entriesOf(given['env'])),
    tokenAttributes: isRecord(given['tokenAttributes'])
      ? tokenAttributesOf(given['tokenAttributes'])
      : undefined,
  };
}

function tokenAttributesOf(given: Readonly<Record<string, unknown>>): Provider {
  const required = given['requireServiceAccount'];
  return {
    cacheType: textOf(given['cacheType']),
    requireServiceAccount: typeof required === 'boolean' ? required : null,
    serviceAccountTokenAudience: textOf(given['serviceAccountTokenAudience']),
    requiredServiceAccountAnnotationKeys: filled(
      textsOf(given['requiredServiceAccountAnnotationKeys']),
    ),
    optionalServiceAccountAnnotationKeys: filled(
      textsOf(given['optionalServiceAccountAnnotationKeys']),
    ),
  };
}

function entriesOf(value: unknown): readonly Provider[] {
  if (!Array.isArray(value)) return [];
  return value
    .filter(isRecord)
    .map((entry) => ({ name: textOf(entry['name']), value: textOf(entry['value']) }));
}

function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'string') : [];
}

function durationOf(value: unknown, path: string): string {
  const duration = typeof value === 'string' ? goDurationOf(value) : undefined;
  if (duration === undefined) {
    throw refused(`${path}.defaultCacheDuration is no duration such as 12h`);
  }
  return formatGoDuration(duration);
}

function refused(reason: string): Error {
  return fail('InvalidMachineConfig', `base config of credential providers: ${reason}`);
}

/**
 * Whether every image of `inner` fits `outer`, as the kubelet matches: as many labels of the host,
 * the same port, and a path that continues.
 *
 * @see kubernetes pkg/credentialprovider/keyring.go, URLsMatch
 */
export function patternCovers(outer: string, inner: string): boolean {
  const [a, b] = [partsOf(outer), partsOf(inner)];
  return (
    a.port === b.port &&
    a.labels.length === b.labels.length &&
    a.labels.every((label, i) => globFits(label, b.labels[i] ?? '')) &&
    b.path.startsWith(a.path)
  );
}

function partsOf(pattern: string) {
  const [, host = '', port = '', path = ''] = /^([^:/]*)(?::(\d*))?(\/.*)?$/.exec(pattern) ?? [];
  return { labels: host.split('.'), port, path };
}

function globFits(glob: string, label: string): boolean {
  const escaped = glob.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`).test(label);
}
