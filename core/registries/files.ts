/** The files with registries and image policies, of one role. */

import { POLICY_JSON, REGISTRIES_CONF } from '../containers-files';
import { fail, messageOf } from '../errors';
import type { GeneratedFile } from '../generated-configs';
import { tomlEntry, toToml, type TomlPort } from '../toml';
import type { ValidLists } from './blocked-registries';
import { editRegistries } from './edit-registries';
import type { ScopedPolicies } from './image-policies';
import { mirrorRefusal } from './mirror-sets';
import { namespacePolicyJsons, scopeRefusal, updatePolicyJson } from './policy-json';
import { parseRegistriesConf, registriesConfText, type RegistriesConf } from './registries-conf';
import { SIGSTORE_REGISTRIES, sigstoreRegistries } from './sigstore-registries';
import type { MirrorSets } from './types';

export const SEARCH_REGISTRIES = '/etc/containers/registries.conf.d/01-image-searchRegistries.conf';
const NAMESPACE_POLICIES = '/etc/crio/policies';

/** The files of a role that stand before any change. */
export interface BaseFiles {
  /** TOML. */
  readonly registriesConf: string;
  /** JSON. */
  readonly policyJson: string;
}

/** What the objects of a cluster ask for. */
export interface RegistriesChoice {
  readonly insecure?: readonly string[];
  readonly search?: readonly string[];
  readonly lists: ValidLists;
  readonly policies: ScopedPolicies;
  readonly mirrors: MirrorSets;
  readonly releaseImage: string;
}

/**
 * The files of a role, in the order of the Ignition.
 *
 * @throws `InvalidMachineConfig` in MCO's words
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go (7ff337a4),
 *   registriesConfigIgnition
 */
export function registriesFiles(
  choice: RegistriesChoice,
  base: BaseFiles,
  port: TomlPort,
): readonly GeneratedFile[] {
  const conf = editedConf(choice, base, port);
  const files: GeneratedFile[] = [];
  if (conf !== undefined) files.push({ path: REGISTRIES_CONF, contents: registriesConfText(conf) });
  files.push(...policyFiles(choice, base, conf));
  if (choice.search !== undefined) {
    files.push({ path: SEARCH_REGISTRIES, contents: searchConf(choice.search) });
  }
  return files;
}

function editedConf(
  { insecure, lists, mirrors }: RegistriesChoice,
  base: BaseFiles,
  port: TomlPort,
): RegistriesConf | undefined {
  const { registriesBlocked: blocked } = lists;
  const sets = Object.values(mirrors).some((list: readonly unknown[]) => list.length > 0);
  if (insecure === undefined && blocked === undefined && !sets) return undefined;
  try {
    const conf = parseRegistriesConf(base.registriesConf, port);
    const refusal =
      scopeRefusal('insecure', insecure ?? []) ??
      scopeRefusal('blocked', blocked ?? []) ??
      mirrorRefusal(mirrors);
    if (refusal !== undefined) throw new Error(refusal);
    return editRegistries(conf, { insecure: insecure ?? [], blocked: blocked ?? [], mirrors });
  } catch (error) {
    throw refused(`could not update registries config with new changes: ${messageOf(error)}`);
  }
}

function policyFiles(
  { lists, policies, releaseImage }: RegistriesChoice,
  base: BaseFiles,
  conf: RegistriesConf | undefined,
): readonly GeneratedFile[] {
  const { cluster, namespaces } = policies;
  const isPlain = lists.policyBlocked === undefined && lists.allowed === undefined;
  if (isPlain && cluster.size === 0 && namespaces.size === 0) return [];
  const contents = during('could not update policy json with new changes', () =>
    updatePolicyJson(base.policyJson, lists, { releaseImage, cluster }),
  );
  const byNamespace = during('could not update namespace policy JSON from imagepolicy', () =>
    namespacePolicyJsons(contents, lists, namespaces),
  );
  const scopes = [cluster, ...namespaces.values()].flatMap((own) => [...own.keys()]);
  const attachments = sigstoreRegistries(scopes, conf);
  return [
    { path: POLICY_JSON, contents },
    ...(attachments === undefined ? [] : [{ path: SIGSTORE_REGISTRIES, contents: attachments }]),
    ...byNamespace.map(([namespace, text]) => ({
      path: `${NAMESPACE_POLICIES}/${namespace}.json`,
      contents: text,
    })),
  ];
}

/** @see MCO pkg/controller/container-runtime-config/helpers.go, updateSearchRegistriesConfig */
function searchConf(registries: readonly string[]): string {
  return toToml([
    ...tomlEntry('unqualified-search-registries', registries),
    ...tomlEntry('short-name-mode', ''),
    ...tomlEntry('additional-layer-store-auth-helper', ''),
  ]);
}

function during<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refused(`${what}: ${messageOf(error)}`);
  }
}

function refused(message: string): Error {
  return fail('InvalidMachineConfig', message);
}
