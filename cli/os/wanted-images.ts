/** The images that `slipway os set` is to write, each by digest. */

import { fileInImage, type RegistryClient } from '../../adapters/registry';
import { fail } from '../../core/errors';
import { REFERENCES_FILE, releaseIn, type ReleaseStream } from '../../core/os';
import type { OsImages, Stream } from './cluster-os';
import { imageNamed, pinned } from './pinned-image';

export interface WantedImages extends OsImages {
  readonly release?: WantedRelease;
}

export interface WantedRelease {
  readonly releaseImage: string;
  readonly version: string;
  /** Its operating systems, as it names them. */
  readonly streams: readonly ReleaseStream[];
}

/** On the image of an operating system: the name of its stream. @see MCO pkg/osimagestream */
const STREAM_LABEL = 'io.openshift.os.streamclass';

/** @param extensions - absent = none */
export async function imagesNamed(
  registry: RegistryClient,
  image: string,
  extensions: string | undefined,
): Promise<WantedImages> {
  const pin = async (text: string, what: string): Promise<string> =>
    pinned(registry, imageNamed(text, what), what);
  return {
    osImage: await pin(image, 'IMAGE'),
    extensionsImage: extensions === undefined ? '' : await pin(extensions, '--extensions'),
  };
}

/** @param text - as a person wrote it */
export async function imagesOfRelease(
  registry: RegistryClient,
  text: string,
): Promise<WantedImages> {
  const named = imageNamed(text, '--release');
  const manifest = await registry.image(named);
  const payload = { name: named.name, tag: '', digest: manifest.digest };
  const releaseImage = await pinned(registry, payload, '--release');
  const file = await fileInImage(registry, payload, manifest, REFERENCES_FILE);
  if (file === undefined) {
    throw fail(
      'InvalidRelease',
      `image ${releaseImage} has no ${REFERENCES_FILE}, so it is no release; name a release, ` +
        'or the OS image itself: slipway os set IMAGE',
    );
  }
  const release = releaseIn(file.toString('utf8'), releaseImage);
  const pin = pinOf(registry, releaseImage);
  const { version, osImage, extensionsImage, streams } = release;
  return {
    osImage: await pin(osImage),
    extensionsImage: extensionsImage === undefined ? '' : await pin(extensionsImage),
    release: { releaseImage, version, streams },
  };
}

/** Asks the registry for the OS image of each: a mirror may have only the release itself. */
export async function namedStreams(
  registry: RegistryClient,
  { releaseImage, streams }: WantedRelease,
): Promise<readonly Stream[]> {
  const pin = pinOf(registry, releaseImage);
  return Promise.all(
    streams.map(async ({ tag, ...images }) => {
      const osImage = await pin(images.osImage);
      const labels = await registry.labels(imageNamed(osImage, tag));
      const osExtensionsImage = await pin(images.extensionsImage);
      return { name: labels[STREAM_LABEL] || tag, osImage, osExtensionsImage };
    }),
  );
}

function pinOf(registry: RegistryClient, releaseImage: string): (image: string) => Promise<string> {
  const what = `${REFERENCES_FILE} of ${releaseImage}`;
  return async (image) => pinned(registry, imageNamed(image, what), what);
}
