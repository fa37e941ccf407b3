/** ContainerRuntimeConfigs, and where machines may pull images from. */

import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';
import {
  CLUSTER_IMAGE_POLICIES,
  CONTAINER_RUNTIME_CONFIGS,
  IMAGE_CONFIGS,
  IMAGE_CONTENT_SOURCE_POLICIES,
  IMAGE_DIGEST_MIRROR_SETS,
  IMAGE_POLICIES,
  IMAGE_TAG_MIRROR_SETS,
  type KubeObject,
  type Resource,
} from '../../adapters/kube/resources';
import { lookAtRuntimes, type RuntimeObject } from '../../core/container-runtime';
import { CONTROLLER_CONFIG, releaseImageOf } from '../../core/controller-config';
import { fewSentences } from '../../core/few';
import { fieldProblemText } from '../../core/field-problem';
import { hasFeatureGate } from '../../core/kubelet';
import { FIELD_MANAGER } from '../../core/names';
import { lookAtRegistries, type RegistriesLook } from '../../core/registries';
import type { Subject } from '../event-recorder';
import {
  GeneratingController,
  say,
  type GeneratingDeps,
  type Look,
  type RefusedWrite,
} from '../generated';
import { policyStatusWrites } from './policy-status';

const MANAGER = `${FIELD_MANAGER.CONTROLLERS}-container-runtime`;

interface RuntimeLook extends Look {
  readonly objects: readonly RuntimeObject[];
  readonly registries: RegistriesLook;
}

export function containerRuntimeController(
  deps: GeneratingDeps,
  leading: AbortSignal,
): GeneratingController<RuntimeLook> {
  const { picture, now } = deps;
  return new GeneratingController(
    deps,
    {
      resource: CONTAINER_RUNTIME_CONFIGS,
      manager: MANAGER,
      watched: [
        ...[picture.containerRuntimeConfigs, picture.images, picture.imageDigestMirrorSets],
        ...[picture.imageTagMirrorSets, picture.imageContentSourcePolicies],
        ...[picture.clusterImagePolicies, picture.imagePolicies],
        ...[picture.featureGates, picture.controllerConfigs],
      ],
      concerned: /^01-.+-container-runtime$|^99-.+-(containerruntime|registries)(-\d+)?$/,
      look: () => look(deps),
      tell: (seen, notWritten) => tell(deps, seen, notWritten),
      writeMore: ({ registries }) =>
        policyStatusWrites(deps, { manager: MANAGER, now: now() }, registries.conflicts),
    },
    leading,
  );
}

function look({ picture, now, version }: GeneratingDeps): RuntimeLook {
  const shared = {
    pools: picture.pools.list(),
    machineConfigs: picture.machineConfigs,
    version,
    toml: { parseToml: (text: string): unknown => parseToml(text) },
    gunzip: (bytes: Uint8Array): Uint8Array => gunzipSync(bytes),
  };
  const controllerConfig = picture.controllerConfigs.get(CONTROLLER_CONFIG);
  const objects = lookAtRuntimes({
    ...shared,
    origins: picture.containerRuntimeConfigs.list(),
    additionalStorage: hasFeatureGate('AdditionalStorageConfig', {
      featureGate: picture.featureGates.get('cluster'),
      controllerConfig,
    }),
    now: now(),
  });
  const registries = lookAtRegistries({
    ...shared,
    image: picture.images.get('cluster'),
    mirrors: {
      contentSourcePolicies: picture.imageContentSourcePolicies.list(),
      digestMirrorSets: picture.imageDigestMirrorSets.list(),
      tagMirrorSets: picture.imageTagMirrorSets.list(),
    },
    clusterImagePolicies: picture.clusterImagePolicies.list(),
    imagePolicies: picture.imagePolicies.list(),
    releaseImage: releaseImageOf(controllerConfig),
  });
  return { objects, cluster: registries.writes, registries };
}

/** What is refused or has no effect, on the objects that say it. */
function tell(
  { events, picture, log }: GeneratingDeps,
  { objects, registries }: Pick<RuntimeLook, 'objects' | 'registries'>,
  notWritten: readonly RefusedWrite[],
): void {
  for (const { origin, ignored } of objects) {
    const subject = { resource: CONTAINER_RUNTIME_CONFIGS, object: origin };
    say(events, subject, 'FieldIgnored', ignored.map(fieldProblemText));
  }
  const refused = [...registries.refused, ...notWritten.map(({ says }) => says)];
  if (refused.length > 0) log.warn({ reason: fewSentences(refused) }, 'registries are refused');
  const subject = subjectOf(picture);
  if (subject === undefined) return;
  say(events, subject, 'Refused', refused);
  say(events, subject, 'FieldIgnored', registries.ignored.map(fieldProblemText));
}

/** The Image, or without one the first of the other objects. */
function subjectOf(picture: GeneratingDeps['picture']): Subject | undefined {
  const sources: readonly (readonly [Resource, readonly KubeObject[]])[] = [
    [IMAGE_CONFIGS, picture.images.list().filter(({ metadata }) => metadata.name === 'cluster')],
    [IMAGE_DIGEST_MIRROR_SETS, picture.imageDigestMirrorSets.list()],
    [IMAGE_TAG_MIRROR_SETS, picture.imageTagMirrorSets.list()],
    [IMAGE_CONTENT_SOURCE_POLICIES, picture.imageContentSourcePolicies.list()],
    [CLUSTER_IMAGE_POLICIES, picture.clusterImagePolicies.list()],
    [IMAGE_POLICIES, picture.imagePolicies.list()],
  ];
  const [first] = sources.flatMap(([resource, objects]) =>
    objects.slice(0, 1).map((object) => ({ resource, object })),
  );
  return first;
}
