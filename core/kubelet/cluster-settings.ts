/** What the cluster sets for all kubelets, from objects of config.openshift.io. */

import { isRecord } from '../is-record';
import { ANNOTATION } from '../names';
import { listAt, recordAt, textAt, textsAt, valueAt } from '../values-at';
import { nodeConfigChange } from './node-config-change';
import { profileOfFrequency } from './node-config';
import type { TlsSecurityProfile } from './tls-profile';
import type { FeatureGates, NodeConfigSpec } from './types';
import { kubeletProblems } from './validation';

export interface ClusterSettings {
  readonly featureGates?: FeatureGates | undefined;
  readonly tlsSecurityProfile?: TlsSecurityProfile | undefined;
  readonly node?: NodeConfigSpec | undefined;
  /** Why a setting is not taken over, by the kind of its object. */
  readonly refused: readonly Refused[];
}

export interface Refused {
  readonly kind: 'FeatureGate' | 'Node';
  readonly says: string;
}

export interface ClusterObjects {
  readonly featureGate: unknown;
  readonly configNode: unknown;
  readonly apiServer: unknown;
  readonly controllerConfig: unknown;
}

/** @param frequency - `nodeStatusUpdateFrequency` that workers have now, when this generated it */
export function clusterSettings(
  objects: ClusterObjects,
  frequency: string | undefined,
): ClusterSettings {
  const gates = featureGatesOf(objects);
  const node = nodeOf(objects.configNode, frequency);
  return {
    featureGates: gates.accepted,
    node: node.accepted,
    tlsSecurityProfile: recordAt(objects.apiServer, 'spec', 'tlsSecurityProfile'),
    refused: [
      ...(gates.says === undefined ? [] : [{ kind: 'FeatureGate', says: gates.says } as const]),
      ...(node.says === undefined ? [] : [{ kind: 'Node', says: node.says } as const]),
    ],
  };
}

/** Whether the cluster turns a gate of its own components on. */
export function hasFeatureGate(
  gate: string,
  objects: Pick<ClusterObjects, 'featureGate' | 'controllerConfig'>,
): boolean {
  const listed = gatesOfStatus(objects) ?? gatesOfSpec(objects);
  return listed.enabled.includes(gate);
}

interface Accepted<T> {
  readonly accepted?: T;
  readonly says?: string;
}

/**
 * The status wins where somebody keeps it, as on OpenShift, whose kubelets know more gates than
 * others. Else those that a person lists.
 */
function featureGatesOf(objects: ClusterObjects): Accepted<FeatureGates> {
  if (!isRecord(objects.featureGate)) return {};
  const ofStatus = gatesOfStatus(objects);
  if (ofStatus !== undefined) return { accepted: ofStatus };
  const accepted = gatesOfSpec(objects);
  const featureGates = Object.fromEntries([
    ...accepted.enabled.map((gate) => [gate, true] as const),
    ...accepted.disabled.map((gate) => [gate, false] as const),
  ]);
  const [problem] = kubeletProblems({ featureGates });
  if (problem === undefined) return { accepted };
  const { path, problem: says, fix } = problem;
  return { says: `spec.customNoUpgrade: ${String(path.at(-1))}: ${says}; ${fix}` };
}

function gatesOfStatus({
  featureGate,
  controllerConfig,
}: Pick<ClusterObjects, 'featureGate' | 'controllerConfig'>): FeatureGates | undefined {
  const versions = listAt(featureGate, 'status', 'featureGates');
  if (versions.length === 0) return undefined;
  const release = valueAt(
    controllerConfig,
    'metadata',
    'annotations',
    ANNOTATION.RELEASE_IMAGE_VERSION,
  );
  const own = versions.find((one) => valueAt(one, 'version') === release) ?? versions.at(0);
  return { enabled: namesIn(own, 'enabled'), disabled: namesIn(own, 'disabled') };
}

function gatesOfSpec({ featureGate }: Pick<ClusterObjects, 'featureGate'>): FeatureGates {
  const custom = valueAt(featureGate, 'spec', 'customNoUpgrade');
  return { enabled: textsIn(custom, 'enabled'), disabled: textsIn(custom, 'disabled') };
}

/** A prohibited change of the latency profile leaves the one that workers have. */
function nodeOf(configNode: unknown, frequency: string | undefined): Accepted<NodeConfigSpec> {
  const wanted: NodeConfigSpec | undefined = recordAt(configNode, 'spec');
  if (wanted === undefined) return {};
  const applied = frequency === undefined ? undefined : profileOfFrequency(frequency);
  if (applied === undefined) return { accepted: wanted };
  const before = { ...wanted, workerLatencyProfile: applied };
  const { prohibited } = nodeConfigChange(
    { name: 'cluster', spec: before },
    { name: 'cluster', spec: wanted },
  );
  if (prohibited === undefined) return { accepted: wanted };
  const fix = 'set MediumUpdateAverageReaction first';
  return { accepted: before, says: `${prohibited}; ${fix}` };
}

function textsIn(object: unknown, field: string): readonly string[] {
  return textsAt(object, field).map(([text]) => text);
}

function namesIn(object: unknown, field: string): readonly string[] {
  return listAt(object, field).flatMap((one) => textAt(one, 'name') ?? []);
}
