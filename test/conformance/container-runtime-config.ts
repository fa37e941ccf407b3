/** `container-runtime-config.json`: ContainerRuntimeConfigs → files, names, steps of the controller. */

import { parse as parseToml } from 'smol-toml';

import {
  bootstrapContainerRuntime,
  containerRuntimeFiles,
  containerRuntimeRefusal,
  type ContainerRuntimeConfig,
  type ContainerRuntimeConfiguration,
} from '../../core/container-runtime';
import { messageOf } from '../../core/errors';
import { CONTAINER_RUNTIME_CONFIG, generatedSpec, type Origin } from '../../core/generated-configs';
import {
  givenContext,
  kindOfFunctions,
  knownKeys,
  metadataOf,
  objectsOf,
  poolLabel,
  poolsOf,
  shownMachineConfig,
  textOf,
  textsOf,
  type GivenContext,
  type Handlers,
} from './generated';
import {
  nameAnswer,
  syncAnswer,
  type NameCase,
  type SyncCase,
  type SyncedKind,
} from './generated-sync';
import { isJsonObject, type JsonObject } from './kind';

/** MCO's function → what answers like it. */
const HANDLERS: Handlers<GivenContext> = {
  validateUserContainerRuntimeConfig: validate,
  RunContainerRuntimeBootstrap: bootstrap,
  getManagedKeyCtrCfg: name,
  syncContainerRuntimeConfig: sync,
};

export const containerRuntimeKind = kindOfFunctions(
  'ContainerRuntimeConfigs',
  givenContext,
  HANDLERS,
);

function validate(input: JsonObject): unknown {
  knownKeys('input', input, ['function', 'containerRuntimeConfig']);
  const error = containerRuntimeRefusal(onlyConfig(input).spec.containerRuntimeConfig);
  return error === undefined ? { ok: true } : { error };
}

function bootstrap(input: JsonObject, context: GivenContext): unknown {
  knownKeys('input', input, [
    ...['function', 'pool', 'pools', 'containerRuntimeConfig', 'containerRuntimeConfigs'],
    ...['featureGates', 'storageConf', 'registriesConf', 'policyJSON'],
  ]);
  const storageConf = 'storageConf' in input ? textOf(input, 'storageConf') : context.storageConf;
  const pools = poolsOf(input);
  const [single] = isJsonObject(input['pool']) ? pools : [];
  try {
    const machineConfigs = bootstrapContainerRuntime({
      configs: configsOf(input, single?.name),
      pools,
      gates: gatesOf(input),
      port: { parseToml },
      controllerVersion: context.controllerVersion,
      storageConfOf: () => storageConf,
    });
    return { machineConfigs: machineConfigs.map(shownMachineConfig) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function name(input: JsonObject): unknown {
  knownKeys('input', input, [
    ...['function', 'pool', 'containerRuntimeConfigs', 'for', 'machineConfigs'],
  ]);
  const { containerRuntimeConfigs, ...rest } = input;
  const given = { ...rest, origins: containerRuntimeConfigs } as unknown as NameCase;
  return nameAnswer(CONTAINER_RUNTIME_CONFIG, given);
}

function sync(input: JsonObject, context: GivenContext): unknown {
  knownKeys('input', input, [
    ...['function', 'pools', 'machineConfigs', 'steps', 'storageConf', 'featureGates'],
  ]);
  const storageConf = 'storageConf' in input ? textOf(input, 'storageConf') : context.storageConf;
  const synced: SyncedKind = {
    ...{ kind: CONTAINER_RUNTIME_CONFIG, key: 'containerRuntimeConfig', saysRetried: false },
    version: context.controllerVersion,
    refusalOf: (origin) => containerRuntimeRefusal(configurationIn(origin)),
    generate: (origin) => {
      const how = { gates: gatesOf(input), port: { parseToml }, storageConf };
      const { files, storageError } = containerRuntimeFiles(configurationIn(origin) ?? {}, how);
      const spec = generatedSpec({ files });
      return storageError === undefined ? { spec } : { spec, leavesOut: storageError };
    },
    contentOf: ({ metadata, spec }) => ({ files: shownMachineConfig({ metadata, spec })['files'] }),
  };
  return syncAnswer(synced, input as unknown as SyncCase);
}

/** Of an object in a step. */
function configurationIn({ metadata, spec }: Origin): ContainerRuntimeConfiguration | undefined {
  return configOf({ name: metadata.name, spec }).spec.containerRuntimeConfig;
}

function gatesOf(input: JsonObject): { readonly additionalStorage: boolean } {
  return { additionalStorage: textsOf(input, 'featureGates').includes('AdditionalStorageConfig') };
}

function onlyConfig(input: JsonObject): ContainerRuntimeConfig {
  const [config] = configsOf(input);
  if (config === undefined) throw new Error('no containerRuntimeConfig');
  return config;
}

/** @param pool - is selected by a config without a selector */
function configsOf(input: JsonObject, pool?: string): readonly ContainerRuntimeConfig[] {
  const { containerRuntimeConfig: single } = input;
  const given = isJsonObject(single) ? [single] : objectsOf(input, 'containerRuntimeConfigs');
  return given.map((config) => configOf(config, pool));
}

function configOf(given: JsonObject, pool?: string): ContainerRuntimeConfig {
  knownKeys('containerRuntimeConfig', given, ['name', 'annotations', 'finalizers', 'age', 'spec']);
  const spec = isJsonObject(given['spec']) ? given['spec'] : {};
  knownKeys('spec', spec, ['machineConfigPoolSelector', 'containerRuntimeConfig']);
  const { machineConfigPoolSelector: selector, containerRuntimeConfig: configuration } = spec;
  const selected = selector ?? (pool && { matchLabels: { [poolLabel(pool)]: '' } });
  return {
    metadata: metadataOf(given),
    spec: {
      ...(isJsonObject(selected) ? { machineConfigPoolSelector: selected } : {}),
      ...(isJsonObject(configuration) ? { containerRuntimeConfig: fieldsOf(configuration) } : {}),
    },
  };
}

function fieldsOf(given: JsonObject): ContainerRuntimeConfiguration {
  knownKeys('containerRuntimeConfig', given, [
    ...['pidsLimit', 'logLevel', 'logSizeMax', 'overlaySize', 'defaultRuntime'],
    ...['additionalLayerStores', 'additionalImageStores', 'additionalArtifactStores'],
  ]);
  return given;
}
