/** KubeletConfig, and what of config.openshift.io decides the kubelet's configuration. */

import { goJson } from '../encoding/go-json';
import type { LabelSelector } from '../object-meta';
import type { TlsSecurityProfile } from './tls-profile';

/** `spec` of a KubeletConfig, as people write it. */
export interface KubeletConfigSpec {
  readonly autoSizingReserved?: boolean | null;
  /** 0 to 10. */
  readonly logLevel?: number | null;
  readonly machineConfigPoolSelector?: LabelSelector;
  /** A KubeletConfiguration of kubelet.config.k8s.io/v1beta1, any fields. */
  readonly kubeletConfig?: unknown;
  readonly tlsSecurityProfile?: TlsSecurityProfile | null;
}

/** What a KubeletConfig says about the kubelet. */
export interface UserKubeletConfig {
  readonly autoSizingReserved?: boolean | undefined;
  readonly logLevel?: number | undefined;
  readonly tlsSecurityProfile?: TlsSecurityProfile | undefined;
  /** JSON or YAML; absent = the KubeletConfig has none. */
  readonly text?: string | undefined;
}

/** The fields of a KubeletConfig; objects stand for their compact JSON, as the API server sends them. */
export function userKubeletConfig(spec: KubeletConfigSpec): UserKubeletConfig {
  const { kubeletConfig } = spec;
  const isAbsent = kubeletConfig === undefined || kubeletConfig === null;
  return {
    autoSizingReserved: spec.autoSizingReserved ?? undefined,
    logLevel: spec.logLevel ?? undefined,
    tlsSecurityProfile: spec.tlsSecurityProfile ?? undefined,
    text: isAbsent ? undefined : goJson(kubeletConfig),
  };
}

/** Of the FeatureGate `cluster`: its status for the version that runs, else what a person lists. */
export interface FeatureGates {
  readonly enabled: readonly string[];
  readonly disabled: readonly string[];
}

/** `spec` of the Node `cluster` of config.openshift.io. */
export interface NodeConfigSpec {
  /** `v2`, or empty for the default. */
  readonly cgroupMode?: string;
  readonly workerLatencyProfile?: string;
  readonly [field: string]: unknown;
}
