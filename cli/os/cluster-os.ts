/** OS images in the cluster: who sets them, and how they are set. */

import type { KubeClient } from '../../adapters/kube/client';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIGS,
  OS_IMAGE_STREAMS,
  type KubeObject,
} from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import type { MachineConfig } from '../../core/machine-config/types';
import { ANNOTATION, FIELD_MANAGER } from '../../core/names';
import { OS_IMAGE_STREAM } from '../../core/pool/image-stream';
import { listAt, textAt, valueAt } from '../../core/values-at';
import { unlessAbsent } from '../../adapters/kube/unless-absent';

export interface OsImages {
  readonly osImage: string;
  /** Empty = none. */
  readonly extensionsImage: string;
}

/** Of the ControllerConfig; an empty text is none. */
export interface ClusterOs extends OsImages {
  readonly releaseImage: string;
  readonly version: string;
}

/** As in an OSImageStream. */
export interface Stream {
  readonly name: string;
  readonly osImage: string;
  readonly osExtensionsImage: string;
}

export interface CliOs {
  /** Undefined = there is no ControllerConfig, or the caller may not read it. */
  ofCluster(): Promise<ClusterOs | undefined>;
  /** The release that brought the images of the ControllerConfig, by this command; undefined = none. */
  releaseSet(): Promise<string | undefined>;
  /** Undefined = there is none of this name. */
  machineConfig(name: string): Promise<MachineConfig | undefined>;
  /** Makes the ControllerConfig where there is none. Without a release, what this command wrote of one goes. */
  setForCluster(os: OsImages & Partial<ClusterOs>): Promise<void>;
  /** Whether pools may choose one. */
  hasStreams(): Promise<boolean>;
  /** Makes the OSImageStream where there is none. False = its kind is not served. */
  setStreams(streams: readonly Stream[], usual: string): Promise<boolean>;
  /** Makes the MachineConfig where there is none. */
  setForPool(
    name: string,
    labels: Readonly<Record<string, string>>,
    images: OsImages,
  ): Promise<void>;
}

const FIELD_OWNER = `${FIELD_MANAGER.CLI}-os`;

export function clusterOs(client: KubeClient): CliOs {
  const controllerConfig = (): Promise<KubeObject | undefined> =>
    unlessAbsent(client.get(CONTROLLER_CONFIGS, { name: CONTROLLER_CONFIG }), [
      'ObjectNotFound',
      'ApiForbidden',
    ]);
  return {
    ofCluster: async () => {
      const config = await controllerConfig();
      return config === undefined ? undefined : osOf(config);
    },
    releaseSet: async () => {
      const config = await controllerConfig();
      return config !== undefined && OF_RELEASE.every((field) => isOurs(config, field))
        ? osOf(config).releaseImage
        : undefined;
    },
    machineConfig: (name) => unlessAbsent(client.get(MACHINE_CONFIGS, { name })),
    setForCluster: async ({ osImage, extensionsImage, releaseImage, version }) => {
      const annotations =
        version === undefined ? {} : { [ANNOTATION.RELEASE_IMAGE_VERSION]: version };
      const object = {
        metadata: { name: CONTROLLER_CONFIG, annotations },
        spec: {
          baseOSContainerImage: osImage,
          baseOSExtensionsContainerImage: extensionsImage,
          ...(releaseImage === undefined ? {} : { releaseImage }),
        },
      };
      await client.apply(CONTROLLER_CONFIGS, object, { fieldManager: FIELD_OWNER });
    },
    hasStreams: async () => {
      const reading = client.get(OS_IMAGE_STREAMS, { name: OS_IMAGE_STREAM });
      return (await unlessAbsent(reading)) !== undefined;
    },
    setStreams: async (availableStreams, defaultStream) => {
      const metadata = { name: OS_IMAGE_STREAM };
      const how = { fieldManager: FIELD_OWNER };
      const making = client.apply(OS_IMAGE_STREAMS, { metadata, spec: {} }, how);
      if ((await unlessAbsent(making)) === undefined) return false;
      const status = { availableStreams, defaultStream };
      await client.apply(OS_IMAGE_STREAMS, { metadata, status }, { ...how, subresource: 'status' });
      return true;
    },
    setForPool: async (name, labels, { osImage, extensionsImage }) => {
      const spec = {
        osImageURL: osImage,
        ...(extensionsImage === '' ? {} : { baseOSExtensionsContainerImage: extensionsImage }),
      };
      const object = { metadata: { name, labels }, spec };
      await client.apply(MACHINE_CONFIGS, object, { fieldManager: FIELD_OWNER });
    },
  };
}

function osOf(config: KubeObject): ClusterOs {
  const spec = (field: string): string => textAt(config, 'spec', field) ?? '';
  return {
    osImage: spec('baseOSContainerImage') || spec('osImageURL'),
    extensionsImage: spec('baseOSExtensionsContainerImage'),
    releaseImage: spec('releaseImage'),
    version: config.metadata.annotations?.[ANNOTATION.RELEASE_IMAGE_VERSION] ?? '',
  };
}

const OF_RELEASE = ['releaseImage', 'baseOSContainerImage', 'baseOSExtensionsContainerImage'];

/** Others that wrote a field of the spec since then have taken it over. */
function isOurs({ metadata }: KubeObject, field: string): boolean {
  return listAt(metadata, 'managedFields').some(
    (entry) =>
      textAt(entry, 'manager') === FIELD_OWNER &&
      valueAt(entry, 'fieldsV1', 'f:spec', `f:${field}`) !== undefined,
  );
}
