import type { z } from 'zod';
import {
  APIServer,
  ClusterImagePolicy,
  ConfigNode,
  ContainerRuntimeConfig,
  ControllerConfig,
  FeatureGate,
  Image,
  ImageContentSourcePolicy,
  ImageDigestMirrorSet,
  ImagePolicy,
  ImageTagMirrorSet,
  KubeletConfig,
  MachineConfig,
  MachineConfigPool,
  MachineConfiguration,
  OSImageStream,
  PinnedImageSet,
  RolloutPolicy,
} from '../../adapters/api-schemas';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { disruptionProblems, type DisruptionSource } from '../../core/disruption';
import type { FieldProblem } from '../../core/field-problem';
import { bundleRefusals } from '../../core/host-bundle';
import { kubeletRefusals, tlsRefusals } from '../../core/kubelet/admission';
import { placeholdersIn } from '../../core/machine-config';
import {
  CONFIG_GROUP,
  MCO_GROUP,
  MCO_VERSION,
  OPERATOR_GROUP,
  SLIPWAY_GROUP,
  SLIPWAY_VERSION,
} from '../../core/names';
import { OS_IMAGE_STREAM } from '../../core/pool/image-stream';
import { pinnedRefusals } from '../../core/pinned-images';
import { admissionRefusals } from '../../core/templates';

type Refusals = (object: unknown) => readonly FieldProblem[];

export interface OfflineKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: z.ZodType;
  /** Unknown fields below these paths are kept, as in `deploy/crds`. */
  readonly keeps: readonly string[];
  /** Beside the shape, for objects of that shape. */
  readonly refusals?: Refusals;
  readonly onlyName?: string;
  /** Another controller of the cluster keeps what Slipway reads there. */
  readonly readsStatus?: true;
}

/** All other problems of an example that was not filled in follow from that. */
function filledIn(refusals: Refusals): Refusals {
  return (object) => {
    const left = placeholdersIn((object as { readonly spec: unknown }).spec, ['spec']);
    return left.length > 0 ? left : refusals(object);
  };
}

const MCO = `${MCO_GROUP}/${MCO_VERSION}`;
const CONFIG = `${CONFIG_GROUP}/v1`;

/** The checked part of an object; its shape is valid. */
function specOf<S>(object: unknown): S {
  return (object as { readonly spec: S }).spec;
}

export const OFFLINE_KINDS: readonly OfflineKind[] = [
  { apiVersion: MCO, kind: 'MachineConfig', schema: MachineConfig, keeps: [] },
  { apiVersion: MCO, kind: 'MachineConfigPool', schema: MachineConfigPool, keeps: [] },
  {
    apiVersion: MCO,
    kind: 'ControllerConfig',
    schema: ControllerConfig,
    refusals: filledIn((object) => [...bundleRefusals(object), ...admissionRefusals(object)]),
    keeps: ['spec'],
    onlyName: CONTROLLER_CONFIG,
  },
  {
    apiVersion: `${MCO_GROUP}/v1alpha1`,
    kind: 'OSImageStream',
    schema: OSImageStream,
    keeps: [],
    onlyName: OS_IMAGE_STREAM,
    readsStatus: true,
  },
  {
    apiVersion: MCO,
    kind: 'PinnedImageSet',
    schema: PinnedImageSet,
    keeps: [],
    refusals: (object) => pinnedRefusals(specOf(object)),
  },
  {
    apiVersion: `${OPERATOR_GROUP}/v1`,
    kind: 'MachineConfiguration',
    schema: MachineConfiguration,
    keeps: ['spec'],
    refusals: filledIn((object) =>
      disruptionProblems((object as { readonly spec: DisruptionSource }).spec),
    ),
    onlyName: 'cluster',
  },
  {
    apiVersion: MCO,
    kind: 'KubeletConfig',
    schema: KubeletConfig,
    keeps: [
      'spec.kubeletConfig',
      'spec.tlsSecurityProfile.old',
      'spec.tlsSecurityProfile.intermediate',
      'spec.tlsSecurityProfile.modern',
    ],
    refusals: (object) => kubeletRefusals(specOf(object)),
  },
  {
    apiVersion: CONFIG,
    kind: 'FeatureGate',
    schema: FeatureGate,
    keeps: ['spec', 'status'],
    onlyName: 'cluster',
    readsStatus: true,
  },
  { apiVersion: MCO, kind: 'ContainerRuntimeConfig', schema: ContainerRuntimeConfig, keeps: [] },
  { apiVersion: CONFIG, kind: 'Image', schema: Image, keeps: ['spec'], onlyName: 'cluster' },
  { apiVersion: CONFIG, kind: 'ImageDigestMirrorSet', schema: ImageDigestMirrorSet, keeps: [] },
  { apiVersion: CONFIG, kind: 'ImageTagMirrorSet', schema: ImageTagMirrorSet, keeps: [] },
  {
    apiVersion: `${OPERATOR_GROUP}/v1alpha1`,
    kind: 'ImageContentSourcePolicy',
    schema: ImageContentSourcePolicy,
    keeps: [],
  },
  { apiVersion: CONFIG, kind: 'ClusterImagePolicy', schema: ClusterImagePolicy, keeps: [] },
  { apiVersion: CONFIG, kind: 'ImagePolicy', schema: ImagePolicy, keeps: [] },
  { apiVersion: CONFIG, kind: 'Node', schema: ConfigNode, keeps: ['spec'], onlyName: 'cluster' },
  {
    apiVersion: CONFIG,
    kind: 'APIServer',
    schema: APIServer,
    keeps: ['spec'],
    refusals: (object) => tlsRefusals(specOf(object)),
    onlyName: 'cluster',
  },
  {
    apiVersion: `${SLIPWAY_GROUP}/${SLIPWAY_VERSION}`,
    kind: 'RolloutPolicy',
    schema: RolloutPolicy,
    keeps: [],
  },
];
