/** What a user may not set, in the words of MCO. */

import { decodeKubeletConfiguration, type ReadYaml } from './decode';
import type { GoFields } from './schema-types';
import type { UserKubeletConfig } from './types';
import { fieldsAt, textAt, textsAt } from './values';

const HIGHEST_LOG_LEVEL = 10;

/**
 * The first reason to refuse a KubeletConfig for every pool, or undefined.
 *
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), validateUserKubeletConfig
 */
export function userKubeletConfigError(
  user: UserKubeletConfig,
  readYaml: ReadYaml,
): string | undefined {
  const { logLevel, text } = user;
  if (logLevel !== undefined && (logLevel < 0 || logLevel > HIGHEST_LOG_LEVEL)) {
    return `KubeletConfig's LogLevel is not valid [0,10]: ${logLevel}`;
  }
  if (text === undefined) return undefined;
  const decoded = decodeKubeletConfiguration(text, readYaml);
  if ('error' in decoded) {
    return `KubeletConfig could not be unmarshalled, err: ${decoded.error}`;
  }
  const problem = problemOf(decoded.configuration, user);
  return problem === undefined ? undefined : `KubeletConfiguration: ${problem}`;
}

function problemOf(configuration: GoFields, user: UserKubeletConfig): string | undefined {
  const denied = deniedField(configuration);
  if (denied !== undefined) {
    const [name, value] = denied;
    return `${name} is not allowed to be set, but contains: ${value}`;
  }
  const hasReserved = Object.keys(fieldsAt(configuration, 'systemReserved')).length > 0;
  if (hasReserved && user.autoSizingReserved === true) {
    return 'autoSizingReserved and systemdReserved cannot be set together';
  }
  return cgroupMismatch(configuration);
}

/** A field that the cluster decides, and the value as Go prints it. */
function deniedField(configuration: GoFields): readonly [string, string] | undefined {
  const gates = Object.entries(fieldsAt(configuration, 'featureGates'));
  const { failSwapOn } = configuration;
  const found: readonly (readonly [string, string])[] = [
    ['cgroupDriver', textAt(configuration, 'cgroupDriver')],
    ['clusterDNS', goList(textsAt(configuration, 'clusterDNS'))],
    ['clusterDomain', textAt(configuration, 'clusterDomain')],
    [
      'featureGates',
      goMap(gates.map(([name, on]) => [name, on === true ? 'true' : 'false'] as const)),
    ],
    ['failSwapOn', typeof failSwapOn === 'boolean' ? String(failSwapOn) : ''],
    ['swapBehavior', textAt(fieldsAt(configuration, 'memorySwap'), 'swapBehavior')],
  ];
  return found.find(([, value]) => value !== '');
}

function goList(items: readonly string[]): string {
  return items.length === 0 ? '' : `[${items.join(' ')}]`;
}

function goMap(entries: readonly (readonly [string, string])[]): string {
  if (entries.length === 0) return '';
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${sorted.map(([key, value]) => `${key}:${value}`).join(' ')}]`;
}

/** Undefined when one of the two is not set. */
export function cgroupMismatch(configuration: GoFields): string | undefined {
  const reserved = textAt(configuration, 'systemReservedCgroup');
  const system = textAt(configuration, 'systemCgroups');
  if (reserved === '' || system === '' || reserved === system) return undefined;
  return `systemReservedCgroup (${reserved}) must match systemCgroups (${system})`;
}
