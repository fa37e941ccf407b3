import { parse as parseToml } from 'smol-toml';
import { lookAtRuntimes } from '../../core/container-runtime';
import { releaseImageOf } from '../../core/controller-config';
import {
  CONTAINER_RUNTIME_CONFIG,
  type ConfigWrite,
  type Write,
} from '../../core/generated-configs';
import { hasFeatureGate } from '../../core/kubelet';
import { lookAtRegistries } from '../../core/registries';
import type { Findings } from './findings';
import {
  controllerConfigOf,
  gunzip,
  NO_TIME,
  originsOf,
  refuseUnnumbered,
  reportProblem,
  singleOf,
  viewOf,
  type GeneratedInput,
} from './generated-input';

/** Of ContainerRuntimeConfigs, and of what says where images come from. */
export function generatedRuntimes(
  input: GeneratedInput,
  findings: Findings,
): readonly (Write | ConfigWrite)[] {
  return [...ofRuntimes(input, findings), ...ofRegistries(input, findings)];
}

const toml = { parseToml: (text: string): unknown => parseToml(text) };

function ofRuntimes(input: GeneratedInput, findings: Findings): readonly Write[] {
  const origins = originsOf(input, CONTAINER_RUNTIME_CONFIG);
  refuseUnnumbered(input, CONTAINER_RUNTIME_CONFIG, { origins, findings });
  const { pools, configs, version, objects } = input;
  const looked = lookAtRuntimes({
    ...{ origins, pools, version, now: NO_TIME, gunzip, toml },
    machineConfigs: viewOf(configs),
    additionalStorage: hasFeatureGate('AdditionalStorageConfig', {
      featureGate: singleOf(input, 'FeatureGate'),
      controllerConfig: controllerConfigOf(input),
    }),
  });
  for (const { origin, problem, ignored } of looked) {
    const written = objects.written(CONTAINER_RUNTIME_CONFIG.kind, origin.metadata.name);
    for (const { path, problem: says, fix } of ignored) {
      if (written !== undefined) findings.warning(written, path, says, fix);
    }
    reportProblem(input, written, { problem, findings });
  }
  return looked.flatMap(({ writes }) => writes);
}

function ofRegistries(input: GeneratedInput, findings: Findings): readonly ConfigWrite[] {
  const { pools, configs, version, objects } = input;
  const list = <T>(kind: string): readonly T[] => objects.of(kind) as unknown as readonly T[];
  const { writes, refused, ignored } = lookAtRegistries({
    ...{ pools, version, toml, gunzip, machineConfigs: viewOf(configs) },
    image: singleOf(input, 'Image'),
    mirrors: {
      contentSourcePolicies: list('ImageContentSourcePolicy'),
      digestMirrorSets: list('ImageDigestMirrorSet'),
      tagMirrorSets: list('ImageTagMirrorSet'),
    },
    clusterImagePolicies: list('ClusterImagePolicy'),
    imagePolicies: list('ImagePolicy'),
    releaseImage: releaseImageOf(controllerConfigOf(input)),
  });
  const [first] = SOURCES.flatMap((kind) =>
    objects.of(kind).map(({ metadata }) => ({ kind, metadata })),
  );
  const of = first && objects.written(first.kind, first.metadata.name);
  for (const problem of refused) reportProblem(input, of, { problem, findings });
  for (const { object, path, problem, fix } of ignored) {
    const written = (object && objects.written(object.kind, object.name)) ?? of;
    if (written !== undefined) findings.warning(written, path, problem, fix);
  }
  return writes;
}

/** The first of them is named where all together are refused. */
const SOURCES = [
  ...['Image', 'ImageDigestMirrorSet', 'ImageTagMirrorSet', 'ImageContentSourcePolicy'],
  ...['ClusterImagePolicy', 'ImagePolicy'],
];
