/** Pools, KubeletConfigs and cluster objects of a case in their short forms. */

import {
  userKubeletConfig,
  type BootstrapKubeletConfig,
  type FeatureGates,
  type KubeletBase,
  type KubeletConfigSpec,
  type NodeConfigSpec,
  type TlsSecurityProfile,
  type UserKubeletConfig,
} from '../../core/kubelet';
import { knownKeys, objectsOf, poolOf, textsOf } from './generated';
import { isJsonObject, type JsonObject } from './kind';
import type { KubeletContext } from './kubelet-config-context';

export function objectAt(args: JsonObject, key: string): JsonObject | undefined {
  const value = args[key];
  return isJsonObject(value) ? value : undefined;
}

/** The only pool of a case is what a KubeletConfig without a selector selects. */
export function kubeletConfigsOf(args: JsonObject): readonly BootstrapKubeletConfig[] {
  const only = objectAt(args, 'kubeletConfig');
  const configs = only === undefined ? objectsOf(args, 'kubeletConfigs') : [only];
  const pool = objectAt(args, 'pool');
  return configs.map((config) => ({
    selector:
      specOf(config).machineConfigPoolSelector ??
      (pool === undefined ? undefined : { matchLabels: poolOf(pool).labels }),
    user: userOf(config),
  }));
}

/** `rawKubeletConfig` is the exact text. */
export function userOf(config: JsonObject): UserKubeletConfig {
  knownKeys('kubeletConfig', config, [
    ...['name', 'annotations', 'finalizers', 'age', 'spec', 'rawKubeletConfig'],
  ]);
  const raw = config['rawKubeletConfig'];
  const user = userKubeletConfig(specOf(config));
  return typeof raw === 'string' ? { ...user, text: raw } : user;
}

function specOf(config: JsonObject): KubeletConfigSpec {
  const spec: KubeletConfigSpec = objectAt(config, 'spec') ?? {};
  return spec;
}

/** Keys of a case that say what a pool begins with. */
export const BASE_KEYS = [
  'pool',
  'pools',
  'template',
  'featureGates',
  'apiServerTLSSecurityProfile',
  'node',
] as const;

export function baseOf(args: JsonObject, context: KubeletContext): (pool: string) => KubeletBase {
  const { template } = args;
  return (pool) => ({
    role: pool,
    text: typeof template === 'string' ? context.fill(template) : context.baseText(pool),
    featureGates: gatesOf(args),
    tlsSecurityProfile: profileOf(args, 'apiServerTLSSecurityProfile'),
    node: nodeOf(args, 'node'),
  });
}

function gatesOf(args: JsonObject): FeatureGates {
  const gates = objectAt(args, 'featureGates') ?? {};
  knownKeys('featureGates', gates, ['enabled', 'disabled']);
  return { enabled: textsOf(gates, 'enabled'), disabled: textsOf(gates, 'disabled') };
}

export function profileOf(args: JsonObject, key: string): TlsSecurityProfile | undefined {
  return objectAt(args, key);
}

export function nodeOf(args: JsonObject, key: string): NodeConfigSpec | undefined {
  return objectAt(args, key);
}
