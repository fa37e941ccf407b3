/** The objects of Slipway, those that it reads, and the logs of its processes. Secrets and ConfigMaps are never asked for. */

import { isRecord } from '../../core/is-record';
import type { KubeClient } from '../../adapters/kube/client';
import {
  DEPLOYMENTS,
  CONTAINER_RUNTIME_CONFIGS,
  EVENTS,
  IMAGE_CONFIGS,
  IMAGE_DIGEST_MIRROR_SETS,
  IMAGE_TAG_MIRROR_SETS,
  KUBELET_CONFIGS,
  type KubeObject,
  LEASES,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  NODES,
  OS_IMAGE_STREAMS,
  PINNED_IMAGE_SETS,
  pathOf,
  POOL_ROLLOUTS,
  PODS,
  type Resource,
  ROLLOUT_POLICIES,
  SLIPWAYS,
} from '../../adapters/kube/resources';
import type { Bundle } from './bundle';

const NAMESPACE = 'slipway';
/** A rendered config may have a megabyte. */
const PAGE = 20;
const EVENTS_PAGE = 500;
const MOST_EVENTS = 5_000;
const LOG_LINES = 20_000;
/** Of one container, of which 4 MiB stay. */
const LOG_BYTES = 16 * 1024 * 1024;

/** The small and important ones first: a bundle may reach its size. */
const KINDS: readonly (readonly [resource: Resource, namespace?: string])[] = [
  [SLIPWAYS],
  [MACHINE_CONFIG_POOLS],
  [POOL_ROLLOUTS],
  [ROLLOUT_POLICIES],
  [MACHINE_CONFIGURATIONS],
  [OS_IMAGE_STREAMS],
  [PINNED_IMAGE_SETS],
  [KUBELET_CONFIGS],
  [CONTAINER_RUNTIME_CONFIGS],
  [IMAGE_CONFIGS],
  [IMAGE_DIGEST_MIRROR_SETS],
  [IMAGE_TAG_MIRROR_SETS],
  [LEASES, NAMESPACE],
  [DEPLOYMENTS, NAMESPACE],
  [PODS, NAMESPACE],
];
const LARGE_KINDS: readonly (readonly [resource: Resource])[] = [
  [MACHINE_CONFIGS],
  [MACHINE_CONFIG_NODES],
  [NODES],
];

export interface Period {
  readonly sinceSeconds: number;
  readonly nowMs: number;
}

export async function collectKubernetes(
  client: KubeClient,
  bundle: Bundle,
  period: Period,
  signal: AbortSignal,
): Promise<void> {
  for (const [resource, namespace] of KINDS) await objects(resource, namespace);
  await bundle.collect('logs of the processes', () => logs(client, bundle, period, signal));
  for (const namespace of ['default', NAMESPACE]) {
    await bundle.collect(`events of namespace ${namespace}`, () =>
      events(client, bundle, { ...period, namespace }, signal),
    );
  }
  for (const [resource] of LARGE_KINDS) await objects(resource, undefined);

  async function objects(resource: Resource, namespace: string | undefined): Promise<void> {
    const scope = namespace === undefined ? {} : { namespace };
    await bundle.collect(resource.plural, async () => {
      for await (const page of client.pages(resource, { ...scope, pageSize: PAGE, signal })) {
        for (const item of page.items) {
          const shown = { kind: resource.kind, ...trimmed(item) };
          await bundle.json(`kubernetes/${resource.plural}/${item.metadata.name}.json`, shown);
        }
      }
    });
  }
}

/** A node lists the images on its disk. */
function trimmed(object: KubeObject): KubeObject {
  if (!('status' in object) || !isRecord(object.status)) return object;
  const status = Object.entries(object.status).filter(([field]) => field !== 'images');
  return { ...object, status: Object.fromEntries(status) } as KubeObject;
}

interface Event extends KubeObject {
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

async function events(
  client: KubeClient,
  bundle: Bundle,
  { namespace, nowMs, sinceSeconds }: Period & { readonly namespace: string },
  signal: AbortSignal,
): Promise<void> {
  const from = nowMs - sinceSeconds * 1000;
  const found: Event[] = [];
  let count = 0;
  const resource: Resource<Event> = EVENTS;
  for await (const page of client.pages(resource, { namespace, pageSize: EVENTS_PAGE, signal })) {
    const recent = page.items.filter((event) => Date.parse(timeOf(event)) >= from);
    count += recent.length;
    found.push(...recent);
    found.sort((a, b) => Date.parse(timeOf(a)) - Date.parse(timeOf(b)));
    found.splice(0, Math.max(0, found.length - MOST_EVENTS));
  }
  if (count > found.length) {
    bundle.leaveOut(`events of namespace ${namespace}`, `only the last ${MOST_EVENTS} are here`);
  }
  await bundle.lines(`kubernetes/events/${namespace}.jsonl`, found);
}

function timeOf({ lastTimestamp, eventTime, metadata }: Event): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
}

const PODS_WITH_STATUS: Resource = PODS;

interface RunningPod extends KubeObject {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly restartCount?: number;
    }[];
  };
}

async function logs(
  client: KubeClient,
  bundle: Bundle,
  { sinceSeconds }: Period,
  signal: AbortSignal,
): Promise<void> {
  const { items } = await client.list<RunningPod>(PODS_WITH_STATUS, {
    namespace: NAMESPACE,
    signal,
  });
  for (const { metadata, status } of items) {
    for (const { name: container, restartCount = 0 } of status?.containerStatuses ?? []) {
      const runs = restartCount > 0 ? [false, true] : [false];
      for (const previous of runs) await log(metadata.name, container, previous);
    }
  }

  async function log(pod: string, container: string, previous: boolean): Promise<void> {
    const name = `${pod}/${container}${previous ? '-previous' : ''}.log`;
    await bundle.collect(`log ${name}`, async () => {
      signal.throwIfAborted();
      const path = pathOf(PODS, { namespace: NAMESPACE, name: pod, subresource: 'log' });
      const query = { container, previous, tailLines: LOG_LINES, limitBytes: LOG_BYTES };
      const text = await client.text(path, {
        ...query,
        ...(previous ? {} : { sinceSeconds: Math.ceil(sinceSeconds) }),
      });
      await bundle.text(`logs/${name}`, text);
    });
  }
}
