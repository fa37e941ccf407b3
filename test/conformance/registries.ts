/** `registries.json`: Image config, mirror sets and image policies → files of registries. */

import { parse as parseToml } from 'smol-toml';
import { parse as parseYaml } from 'yaml';

import { messageOf } from '../../core/errors';
import { baseName, legacyName } from '../../core/generated-configs';
import {
  bootstrapRegistries,
  isNestedScope,
  syncRegistries,
  updateCredentialProviders,
  validLists,
  type BaseFiles,
  type ImagePolicy,
  type ImageSpec,
  type MirrorSets,
  type Policy,
  type SyncResult,
} from '../../core/registries';
import {
  givenContext,
  kindOfFunctions,
  knownKeys,
  metadataOf,
  objectsOf,
  poolsOf,
  shownMachineConfig,
  textOf,
  textsOf,
  type GivenContext,
  type Handlers,
} from './generated';
import { isJsonObject, type JsonObject } from './kind';

/** MCO's function → what answers like it. */
const HANDLERS: Handlers<GivenContext> = {
  syncImageConfig: sync,
  RunImageBootstrap: bootstrap,
  ScopeIsNestedInsideScope: nested,
  getValidBlockedAndAllowedRegistries: lists,
  updateCredentialProviderConfig: credentialProviders,
  getManagedKeyReg: names,
};

export const registriesKind = kindOfFunctions(
  'registries and image policies',
  givenContext,
  HANDLERS,
);

const BASE_KEYS = ['storageConf', 'registriesConf', 'policyJSON', 'releaseImage'];
const MIRROR_KEYS = ['imageContentSourcePolicies', 'imageDigestMirrorSets', 'imageTagMirrorSets'];
const POLICY_KEYS = ['clusterImagePolicies', 'imagePolicies', 'featureGates'];
const KEYS = [
  ...['function', 'pool', 'pools', 'image', ...BASE_KEYS, ...MIRROR_KEYS, ...POLICY_KEYS],
];
const BUILT_IN = 'machineconfiguration.openshift.io/mco-built-in';

function sync(input: JsonObject, context: GivenContext, expected: JsonObject): unknown {
  knownKeys('input', input, KEYS);
  // A single pool is one of MCO's own, also without the label.
  const all = poolsOf(input);
  const isSingle = isJsonObject(input['pool']);
  const pools = all.filter(({ labels }) => isSingle || Object.hasOwn(labels, BUILT_IN));
  const result = syncRegistries({
    ...commonOf(input, context),
    pools,
    image: imageOf(input) ?? {},
    owner: { apiVersion: 'config.openshift.io/v1', kind: 'Image', name: 'cluster', uid: '' },
    controllerVersion: context.controllerVersion,
  });
  const machineConfigs = (result.machineConfigs ?? []).map(shownMachineConfig);
  return {
    ...(result.error === undefined ? {} : { error: result.error }),
    ...(result.blockError === undefined ? {} : { loggedBlockError: result.blockError }),
    ...(result.conflicts.length === 0
      ? {}
      : { imagePolicyConditions: conditionsOf(result, expected['imagePolicyConditions']) }),
    // The cluster lists its objects by name.
    machineConfigs: machineConfigs.sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** By `namespace/name`. A condition is shown with the fields that the expected one has. */
function conditionsOf({ conflicts }: SyncResult, expected: unknown): object {
  return Object.fromEntries(
    conflicts.map(({ namespace, name, reason, message }) => {
      const key = `${namespace}/${name}`;
      const wanted = isJsonObject(expected) ? expected[key] : undefined;
      const condition = {
        type: 'Pending',
        status: 'False',
        reason,
        message,
        observedGeneration: 1,
      };
      return [
        key,
        Array.isArray(wanted) ? [shownAs(wanted[0], condition)] : shownAs(wanted, condition),
      ];
    }),
  );
}

function shownAs(expected: unknown, condition: object): object {
  if (!isJsonObject(expected)) return condition;
  return Object.fromEntries(Object.entries(condition).filter(([field]) => field in expected));
}

function bootstrap(input: JsonObject, context: GivenContext): unknown {
  knownKeys('input', input, KEYS);
  const image = imageOf(input);
  try {
    const machineConfigs = bootstrapRegistries({
      ...commonOf(input, context),
      pools: poolsOf(input),
      ...(image === undefined ? {} : { image }),
    });
    return { machineConfigs: machineConfigs.map(shownMachineConfig) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function nested(input: JsonObject): unknown {
  knownKeys('input', input, ['function', 'sub', 'super']);
  return { nested: isNestedScope(textOf(input, 'sub'), textOf(input, 'super')) };
}

function lists(input: JsonObject, context: GivenContext): unknown {
  knownKeys('input', input, KEYS);
  const none = { registriesBlocked: null, policyBlocked: null, allowed: null };
  try {
    const image = imageOf(input) ?? {};
    return { ...none, ...validLists(releaseImageOf(input, context), image, mirrorsOf(input)) };
  } catch (error) {
    return { ...none, error: messageOf(error) };
  }
}

/** MCO has no list, or an empty one, where there are no conflicts. */
function credentialProviders(input: JsonObject, _: GivenContext, expected: JsonObject): unknown {
  knownKeys('input', input, ['function', 'matchImages', 'credentialProviderConfig']);
  const base: unknown =
    'credentialProviderConfig' in input
      ? parseYaml(textOf(input, 'credentialProviderConfig'))
      : undefined;
  try {
    const { contents, conflicts } = updateCredentialProviders(base, textsOf(input, 'matchImages'));
    const isNull = conflicts.length === 0 && expected['conflicts'] === null;
    return { contents, conflicts: isNull ? null : conflicts };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** MCO gives the MachineConfig a new name by copying it. */
function names(input: JsonObject): unknown {
  knownKeys('input', input, ['function', 'pool', 'machineConfigs']);
  const [pool] = poolsOf(input);
  if (pool === undefined) throw new Error('no pool');
  const existing = textsOf(input, 'machineConfigs');
  const machineConfigName = baseName('registries', pool.name);
  const legacy = legacyName('registries', pool);
  const isCopied = existing.includes(legacy) && !existing.includes(machineConfigName);
  return {
    machineConfigName,
    machineConfigsAfter: existing
      .map((name) => (isCopied && name === legacy ? machineConfigName : name))
      .sort(),
  };
}

function commonOf(input: JsonObject, context: GivenContext) {
  const baseFiles: BaseFiles = {
    registriesConf:
      'registriesConf' in input ? textOf(input, 'registriesConf') : context.registriesConf,
    policyJson: 'policyJSON' in input ? textOf(input, 'policyJSON') : context.policyJSON,
  };
  return {
    mirrors: mirrorsOf(input),
    releaseImage: releaseImageOf(input, context),
    clusterImagePolicies: objectsOf(input, 'clusterImagePolicies').map(policyOf),
    imagePolicies: objectsOf(input, 'imagePolicies').map(policyOf),
    sigstoreVerification: textsOf(input, 'featureGates').includes('SigstoreImageVerification'),
    port: { parseToml },
    baseFilesOf: () => baseFiles,
  };
}

function releaseImageOf(input: JsonObject, context: GivenContext): string {
  return 'releaseImage' in input ? textOf(input, 'releaseImage') : context.releaseImageDefault;
}

function imageOf(input: JsonObject): ImageSpec | undefined {
  const { image } = input;
  if (!isJsonObject(image)) return undefined;
  knownKeys('image', image, ['registrySources']);
  const { registrySources } = image;
  if (!isJsonObject(registrySources)) return {};
  knownKeys('registrySources', registrySources, [
    ...['insecureRegistries', 'blockedRegistries', 'allowedRegistries'],
    'containerRuntimeSearchRegistries',
  ]);
  return { registrySources: registrySources };
}

function mirrorsOf(input: JsonObject): MirrorSets {
  return {
    contentSourcePolicies: setsOf(input, 'imageContentSourcePolicies', 'repositoryDigestMirrors'),
    digestMirrorSets: setsOf(input, 'imageDigestMirrorSets', 'imageDigestMirrors'),
    tagMirrorSets: setsOf(input, 'imageTagMirrorSets', 'imageTagMirrors'),
  };
}

function setsOf(input: JsonObject, key: string, rules: string) {
  return objectsOf(input, key).map((given) => {
    knownKeys(key, given, ['name', 'spec']);
    const spec = isJsonObject(given['spec']) ? given['spec'] : {};
    knownKeys(`${key}.spec`, spec, [rules]);
    for (const rule of objectsOf(spec, rules)) {
      knownKeys(rules, rule, ['source', 'mirrors', 'mirrorSourcePolicy']);
    }
    return { metadata: metadataOf(given), spec };
  });
}

function policyOf(given: JsonObject): ImagePolicy {
  knownKeys('image policy', given, ['name', 'namespace', 'spec']);
  const spec = isJsonObject(given['spec']) ? given['spec'] : {};
  knownKeys('spec', spec, ['scopes', 'policy']);
  if (!isJsonObject(spec['policy'])) throw new Error(`${textOf(given, 'name')}: no policy`);
  const policy = spec['policy'] as unknown as Policy;
  return { metadata: metadataOf(given), spec: { scopes: textsOf(spec, 'scopes'), policy } };
}
