/** A user's configuration over that of the cluster, with the rules of MCO for single fields. */

import { decodeKubeletConfiguration, type ReadYaml } from './decode';
import { mergeConfigurations } from './merge';
import type { GoFields } from './schema-types';
import { fieldsAt, textAt, textsAt } from './values';
import { cgroupMismatch } from './validate-user';

/** Resources that the node sizing service sets, from a file of its own. */
const SIZED = ['memory', 'cpu', 'ephemeral-storage'] as const;

export type Sized = Readonly<Partial<Record<(typeof SIZED)[number], string>>>;

interface UserConfiguration {
  readonly configuration: GoFields;
  /** Of systemReserved, which kubelet.conf does not get. */
  readonly sized: Sized;
}

/**
 * Merges a user's configuration.
 *
 * @param text - absent = the user has none
 * @see MCO pkg/controller/kubelet-config/helpers.go (7ff337a4), generateKubeletIgnFiles
 */
export function withUserConfiguration(
  base: GoFields,
  text: string | undefined,
  readYaml: ReadYaml,
): UserConfiguration | { readonly error: string } {
  const merged =
    text === undefined ? { configuration: base, sized: {} } : merge(base, text, readYaml);
  if ('error' in merged) return merged;
  const configuration = withReservedCpus(merged.configuration);
  const mismatch = cgroupMismatch(configuration);
  if (mismatch !== undefined) return { error: `invalid merged configuration: ${mismatch}` };
  return { ...merged, configuration };
}

function merge(
  base: GoFields,
  text: string,
  readYaml: ReadYaml,
): UserConfiguration | { readonly error: string } {
  const decoded = decodeKubeletConfiguration(text, readYaml);
  if ('error' in decoded) {
    return { error: `could not deserialize the new Kubelet config: ${decoded.error}` };
  }
  const { sized, rest } = splitReserved(fieldsAt(decoded.configuration, 'systemReserved'));
  // Feature gates come from the cluster only.
  const user = { ...decoded.configuration, systemReserved: rest, featureGates: undefined };
  const merged = mergeConfigurations(withoutKernelDefaults(base, text), user);
  const isCleared = textAt(user, 'systemReservedCgroup') === '' && enforcesOthersOnly(user);
  return { configuration: isCleared ? { ...merged, systemReservedCgroup: '' } : merged, sized };
}

function splitReserved(reserved: GoFields): { readonly sized: Sized; readonly rest: GoFields } {
  const sized = SIZED.flatMap((name) =>
    Object.hasOwn(reserved, name) ? [[name, textAt(reserved, name)] as const] : [],
  );
  const rest = Object.entries(reserved).filter(([name]) => !SIZED.some((each) => each === name));
  return { sized: Object.fromEntries(sized), rest: Object.fromEntries(rest) };
}

/**
 * A merge would not see the value false. Only this text counts, also of another struct: as in MCO, a
 * blank behind the colon makes another text.
 */
function withoutKernelDefaults(base: GoFields, text: string): GoFields {
  return text.includes('"protectKernelDefaults":false')
    ? { ...base, protectKernelDefaults: false }
    : base;
}

/** The user says what is enforced, and the cgroup of the system is not among it. */
function enforcesOthersOnly(user: GoFields): boolean {
  const enforced = textsAt(user, 'enforceNodeAllocatable');
  return enforced.length > 0 && !enforced.some((each) => each.startsWith('system-reserved'));
}

/** Reserved CPUs and a cgroup of the system exclude each other. */
function withReservedCpus(configuration: GoFields): GoFields {
  if (textAt(configuration, 'reservedSystemCPUs') === '') return configuration;
  return { ...configuration, systemReservedCgroup: '', enforceNodeAllocatable: ['pods'] };
}
