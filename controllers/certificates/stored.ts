/** The objects of certificates, followed one by one: the rights are for these names alone. */

import { runCaches, whenCachesSynced } from '../../adapters/kube/cluster-caches';
import { WatchCache } from '../../adapters/kube/cache';
import {
  CONFIG_MAPS,
  SECRETS,
  type ConfigMap,
  type KubeObject,
  type Resource,
  type Secret,
} from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import {
  AUTHORITY_SECRET,
  BUNDLE_CONFIG_MAP,
  CLIENT_AUTHORITY_CONFIG_MAP,
  CLUSTER_AUTHENTICATION,
  OWN_LABELS,
  SERVING_SECRET,
  TEMPORAL_AUTHORITY,
  TEMPORAL_CLIENT_SECRET,
} from '../../core/certificates';

export type StoredCertificates = ReturnType<typeof storedCertificates>;

export type Stored = Readonly<Record<string, Follower<Secret> | Follower<ConfigMap>>>;

/** Of the server. */
export function storedCertificates(namespace: string, log: Log) {
  const secret = (name: string) => new Follower(SECRETS, { namespace, name }, log);
  const configMap = (name: string) => new Follower(CONFIG_MAPS, { namespace, name }, log);
  return {
    authority: secret(AUTHORITY_SECRET),
    serving: secret(SERVING_SECRET),
    bundle: configMap(BUNDLE_CONFIG_MAP),
    clientAuthority: configMap(CLIENT_AUTHORITY_CONFIG_MAP),
    cluster: new Follower(CONFIG_MAPS, CLUSTER_AUTHENTICATION, log),
  };
}

/** Between the processes and Temporal. */
export function storedForTemporal(namespace: string, log: Log) {
  const secret = (name: string) => new Follower(SECRETS, { namespace, name }, log);
  return {
    authority: secret(TEMPORAL_AUTHORITY.secret),
    client: secret(TEMPORAL_CLIENT_SECRET),
  };
}

/** Until the signal aborts. @param changed - called when all are known, and after each change */
export async function followStored(
  stored: Stored,
  source: WatchSource,
  { signal, changed }: { readonly signal: AbortSignal; readonly changed: () => void },
): Promise<void> {
  const caches = Object.fromEntries(
    Object.entries(stored).map(([part, { cache }]: [string, Follower<KubeObject>]) => [
      part,
      cache,
    ]),
  );
  let isKnown = false;
  for (const cache of Object.values(caches)) {
    cache.subscribe(() => {
      if (isKnown) changed();
    });
  }
  void whenCachesSynced(caches).then(() => {
    isKnown = true;
    changed();
  });
  await runCaches(caches, source, signal);
}

/** An own write is known at once. */
export function absorb(stored: Stored, resource: Resource, object: KubeObject): void {
  const { name } = object.metadata;
  for (const follower of Object.values(stored) as Follower<KubeObject>[]) {
    const { plural } = follower.resource;
    if (plural === resource.plural && follower.key.name === name) follower.cache.absorb(object);
  }
}

export interface StoredObject<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly key: { readonly namespace: string; readonly name: string };
  /** Undefined = there is none. */
  readonly object: T | undefined;
}

/** To create it. */
export function ownMetadata({ key: { namespace, name } }: StoredObject<KubeObject>) {
  return { name, namespace, labels: OWN_LABELS };
}

/** `secret slipway/slipway-server-tls` */
export function textOf({ resource, key }: StoredObject<KubeObject>): string {
  return `${resource.kind.toLowerCase()} ${key.namespace}/${key.name}`;
}

/** One object. */
export class Follower<T extends KubeObject> implements StoredObject<T> {
  readonly cache: WatchCache<T>;

  constructor(
    readonly resource: Resource<T>,
    readonly key: { readonly namespace: string; readonly name: string },
    log: Log,
  ) {
    const { namespace, name } = key;
    const fieldSelector = `metadata.name=${name}`;
    this.cache = new WatchCache({ resource, namespace, fieldSelector, log });
  }

  get object(): T | undefined {
    return this.cache.get(this.key.name, this.key.namespace);
  }
}

/** Texts of a Secret; an absent one is empty. */
export function textIn(secret: Secret, field: string): string {
  return Buffer.from(secret.data?.[field] ?? '', 'base64').toString();
}

export function asData(texts: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(texts).map(([field, text]) => [field, Buffer.from(text).toString('base64')]),
  );
}
