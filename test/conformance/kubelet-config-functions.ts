/** The functions of MCO that cases name, each with those of the product that answer for it. */

import {
  generatedSpec,
  KUBELET_CONFIG,
  type KnownConfig,
  type Origin,
} from '../../core/generated-configs';
import {
  bootstrapFeatureGates,
  bootstrapKubeletConfigs,
  bootstrapNodeConfig,
  cgroupArguments,
  isControlPlanePool,
  KUBELET_CONF,
  kubeletConfigFiles,
  nodeConfigChange,
  securityProfileCiphers,
  staticPodPathError,
  userKubeletConfigError,
  type BootstrapInput,
  type BootstrapResult,
} from '../../core/kubelet';
import { poolOf, poolsOf, shownMachineConfig, textsOf } from './generated';
import {
  conditionsAnswer,
  nameAnswer,
  syncAnswer,
  type NameCase,
  type SyncCase,
  type SyncedKind,
} from './generated-sync';
import { isJsonObject, type JsonObject } from './kind';
import { READ_YAML, type KubeletContext } from './kubelet-config-context';
import {
  BASE_KEYS,
  baseOf,
  kubeletConfigsOf,
  nodeOf,
  objectAt,
  profileOf,
  userOf,
} from './kubelet-config-input';

interface KubeletFunction {
  /** Of the input; any other is an error. */
  readonly keys: readonly string[];
  run(args: JsonObject, context: KubeletContext): unknown;
}

const CONFIG_KEYS = ['kubeletConfig', 'kubeletConfigs'] as const;

export const KUBELET_FUNCTIONS: ReadonlyMap<string, KubeletFunction> = new Map([
  [
    'RunKubeletBootstrap',
    {
      keys: [...BASE_KEYS, ...CONFIG_KEYS],
      run: (args, context) =>
        shape(bootstrapKubeletConfigs(kubeletConfigsOf(args), inputOf(args, context))),
    },
  ],
  [
    'RunFeatureGateBootstrap',
    {
      keys: BASE_KEYS,
      run: (args, context) => shape(bootstrapFeatureGates(inputOf(args, context))),
    },
  ],
  [
    'RunNodeConfigBootstrap',
    {
      keys: BASE_KEYS,
      run: (args, context) => shape(bootstrapNodeConfig(inputOf(args, context))),
    },
  ],
  ['validateUserKubeletConfig', { keys: CONFIG_KEYS, run: validateUser }],
  [
    'validateStaticPodPathGivenPool',
    { keys: ['pool', ...CONFIG_KEYS], run: validateStaticPodPath },
  ],
  ['updateNodeConfig', { keys: ['node', 'oldNode'], run: updateNodeConfig }],
  [
    'updateMachineConfigwithCgroup',
    {
      keys: ['node', 'kernelArguments'],
      run: (args) => cgroupArguments(nodeOf(args, 'node') ?? {}, textsOf(args, 'kernelArguments')),
    },
  ],
  [
    'GetSecurityProfileCiphers',
    { keys: ['profile'], run: (args) => securityProfileCiphers(profileOf(args, 'profile')) },
  ],
  [
    'getManagedKubeletConfigKey',
    {
      keys: ['pool', 'kubeletConfigs', 'for', 'machineConfigs'],
      run: ({ kubeletConfigs, ...rest }) =>
        nameAnswer(KUBELET_CONFIG, { ...rest, origins: kubeletConfigs } as unknown as NameCase),
    },
  ],
  [
    'cleanUpStatusConditions',
    { keys: ['conditions'], run: (args) => conditionsAnswer(textsOf(args, 'conditions')) },
  ],
  [
    'syncKubeletConfig',
    { keys: ['pools', 'machineConfigs', 'steps', 'featureGates', 'template'], run: sync },
  ],
] satisfies readonly (readonly [string, KubeletFunction])[]);

function sync(args: JsonObject, context: KubeletContext): unknown {
  const base = baseOf(args, context);
  const user = ({ metadata: { name }, spec = {} }: Origin) => userOf({ name, spec });
  const synced: SyncedKind = {
    ...{ kind: KUBELET_CONFIG, key: 'kubeletConfig', version: context.controllerVersion },
    saysRetried: true,
    refusalOf: (origin) => userKubeletConfigError(user(origin), READ_YAML),
    generate: (origin, { metadata }) => {
      const pool = { name: metadata.name };
      const error = staticPodPathError(user(origin), pool, READ_YAML);
      if (error !== undefined) return { problem: error };
      const made = kubeletConfigFiles(base(pool.name), user(origin), READ_YAML);
      return 'error' in made ? { problem: made.error } : { spec: generatedSpec(made) };
    },
    contentOf: pathsAndPods,
  };
  return syncAnswer(synced, args as unknown as SyncCase);
}

/** A MachineConfig that exists before has no files. */
function pathsAndPods(config: KnownConfig): JsonObject {
  const { files } = shownMachineConfig(config);
  const paths = files.map(({ path }) => path);
  const conf = files.find(({ path }) => path === KUBELET_CONF);
  if (conf === undefined) return { paths };
  const read = READ_YAML(conf.contents);
  const value = 'value' in read && isJsonObject(read.value) ? read.value : {};
  return { paths, maxPods: value['maxPods'] };
}

function inputOf(args: JsonObject, context: KubeletContext): BootstrapInput {
  return {
    pools: poolsOf(args),
    baseOf: baseOf(args, context),
    controllerVersion: context.controllerVersion,
    readYaml: READ_YAML,
  };
}

function validateUser(args: JsonObject): unknown {
  return verdict(userKubeletConfigError(userOf(objectAt(args, 'kubeletConfig') ?? {}), READ_YAML));
}

function validateStaticPodPath(args: JsonObject): unknown {
  const pool = poolOf(objectAt(args, 'pool') ?? {});
  const user = userOf(objectAt(args, 'kubeletConfig') ?? {});
  return {
    controlPlanePool: isControlPlanePool(pool),
    ...verdict(staticPodPathError(user, pool, READ_YAML)),
  };
}

function verdict(error: string | undefined): JsonObject {
  return error === undefined ? { ok: true } : { error };
}

function updateNodeConfig(args: JsonObject): unknown {
  const [old, now] = [nodeOf(args, 'oldNode') ?? {}, nodeOf(args, 'node') ?? {}];
  const change = nodeConfigChange({ name: 'cluster', spec: old }, { name: 'cluster', spec: now });
  const { syncs, prohibited } = change;
  return {
    enqueued: syncs,
    events: prohibited === undefined ? [] : [`Normal ActionProhibited ${prohibited}`],
  };
}

function shape(result: BootstrapResult): unknown {
  if ('error' in result) return result;
  return { machineConfigs: result.machineConfigs.map(shownMachineConfig) };
}
