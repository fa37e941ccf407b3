/**
 * The OS image of a release, from the list of images that its payload image holds.
 *
 * @see oc pkg/cli/admin/release: an ImageStream of image.openshift.io/v1
 */

import { fail } from '../errors';
import { isRecord } from '../is-record';

export const REFERENCES_FILE = 'release-manifests/image-references';

export interface Release {
  /** The name of the release, such as `4.20.3`; empty = it has none. */
  readonly version: string;
  /** As the payload names them. */
  readonly osImage: string;
  /** Absent = the release has none for this OS. */
  readonly extensionsImage?: string;
  /** All of its operating systems that have an extensions image, with that of `osImage`. */
  readonly streams: readonly ReleaseStream[];
}

export interface ReleaseStream {
  readonly tag: string;
  readonly osImage: string;
  readonly extensionsImage: string;
}

/** In this order; `-9` and the like at the end only where none of these is there. */
const OS_TAGS = ['rhel-coreos', 'stream-coreos', 'fedora-coreos', 'centos-stream-coreos'];
const NUMBERED = new RegExp(`^(${OS_TAGS.join('|')})-[0-9]+$`);

/**
 * @param text - of the file
 * @param image - of the payload, for messages
 * @throws `InvalidRelease`
 */
export function releaseIn(text: string, image: string): Release {
  const refuse = (problem: string): never => {
    throw fail('InvalidRelease', `release image ${image}: ${REFERENCES_FILE}: ${problem}`);
  };
  const references = parsed(text);
  if (references?.['kind'] !== 'ImageStream') return refuse('it is no ImageStream in JSON');
  const { metadata, spec } = references;
  const images = imagesByTag(isRecord(spec) ? spec['tags'] : undefined);
  const tag = osTagAmong([...images.keys()]);
  if ('problem' in tag) return refuse(tag.problem);
  const osImage = images.get(tag.name) ?? '';
  const extensionsImage = images.get(`${tag.name}-extensions`);
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  return {
    version: typeof name === 'string' ? name : '',
    osImage,
    ...(extensionsImage === undefined ? {} : { extensionsImage }),
    streams: streamsAmong(images),
  };
}

function streamsAmong(images: ReadonlyMap<string, string>): readonly ReleaseStream[] {
  return [...images].flatMap(([tag, osImage]) => {
    const extensionsImage = images.get(`${tag}-extensions`);
    const isOs = OS_TAGS.includes(tag) || NUMBERED.test(tag);
    return isOs && extensionsImage !== undefined ? [{ tag, osImage, extensionsImage }] : [];
  });
}

function osTagAmong(
  tags: readonly string[],
): { readonly name: string } | { readonly problem: string } {
  const usual = OS_TAGS.find((tag) => tags.includes(tag));
  if (usual !== undefined) return { name: usual };
  const [numbered, ...others] = tags.filter((tag) => NUMBERED.test(tag));
  const fix = 'name the OS image itself: slipway os set IMAGE';
  if (numbered === undefined) {
    return { problem: `none of its tags is an OS image (${OS_TAGS.join(', ')}); ${fix}` };
  }
  if (others.length === 0) return { name: numbered };
  return { problem: `it has several OS images (${[numbered, ...others].join(', ')}); ${fix}` };
}

function imagesByTag(tags: unknown): ReadonlyMap<string, string> {
  const entries = (Array.isArray(tags) ? (tags as readonly unknown[]) : []).filter(isRecord);
  return new Map(
    entries.flatMap(({ name, from }): [string, string][] => {
      const image = isRecord(from) && from['kind'] === 'DockerImage' ? from['name'] : undefined;
      return typeof name === 'string' && typeof image === 'string' ? [[name, image]] : [];
    }),
  );
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
