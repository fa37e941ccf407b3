/** The processes that run in the cluster, by their pods. Those that run elsewhere are not seen. */

import type { ObjectMeta } from '../object-meta';
import type { Component, NamedVersion } from './types';

/** In deploy/base, `slipway-` before each. */
const EXPECTED = ['cluster-worker', 'controllers', 'server'];

/** Of the pods of Slipway's namespace. */
export interface ProcessPod {
  readonly metadata: ObjectMeta;
  readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const NAME_LABEL = 'app.kubernetes.io/name';

/**
 * None when there is no pod at all: the processes run elsewhere.
 *
 * @param before - the last answer: since when a component has been down
 * @param now - RFC 3339
 */
export function componentsOf(
  pods: readonly ProcessPod[],
  before: readonly Component[],
  now: string,
): readonly Component[] {
  const living = pods.filter(({ metadata, status }) => {
    const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
    return metadata.deletionTimestamp === undefined && !isOver;
  });
  const byName = new Map<string, ProcessPod[]>();
  for (const pod of living) {
    const name = processOf(pod);
    if (name !== undefined) byName.set(name, [...(byName.get(name) ?? []), pod]);
  }
  if (byName.size === 0) return [];
  return EXPECTED.map((name) => {
    const own = byName.get(name) ?? [];
    const ready = own.filter(isReady).length;
    const images = [...new Set(own.map(imageOf))].sort();
    const known = before.find((component) => component.name === name)?.downSince;
    const down = ready === 0 ? { downSince: known ?? now } : {};
    return { name, replicas: own.length, ready, images, ...down };
  });
}

/**
 * The versions of the components. An image that the leader runs, too, has the version of the leader; of another one its
 * tag is the version, or the beginning of its digest.
 *
 * @param own - version of the leader, and its image where it runs in a pod
 */
export function componentVersions(
  components: readonly Component[],
  own: { readonly version: string; readonly image: string | undefined },
): readonly NamedVersion[] {
  return components.flatMap(({ name, images }) => {
    const versions = images.map((image) => (image === own.image ? own.version : versionIn(image)));
    if (versions.length === 0) return [];
    return [{ name, version: [...new Set(versions)].sort().join(', ') }];
  });
}

/** Of the pod of this name; undefined = it is none of these. */
export function imageOfPod(pods: readonly ProcessPod[], name: string): string | undefined {
  const pod = pods.find(({ metadata }) => metadata.name === name);
  return pod === undefined ? undefined : imageOf(pod);
}

function processOf({ metadata }: ProcessPod): string | undefined {
  const name = metadata.labels?.[NAME_LABEL]?.replace(/^slipway-/, '');
  return name !== undefined && EXPECTED.includes(name) ? name : undefined;
}

function isReady({ status }: ProcessPod): boolean {
  return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;
}

function imageOf({ spec }: ProcessPod): string {
  return spec?.containers?.[0]?.image ?? '';
}

const DIGEST_SHOWN = 12;

/** `registry:5000/slipway:0.2.0@sha256:…` has version 0.2.0. */
function versionIn(image: string): string {
  const [name = '', digest] = image.split('@');
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  if (tag !== undefined) return tag;
  if (digest === undefined) return 'latest';
  const [algorithm = '', hex = ''] = digest.split(':');
  return `${algorithm}:${hex.slice(0, DIGEST_SHOWN)}`;
}
