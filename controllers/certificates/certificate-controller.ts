/**
 * Keeps the certificates of the server: its authority, the certificate that it serves, the bundle by
 * which machines recognise it, and the authorities of the kubelets. Objects that Slipway did not
 * make stay as they are.
 */

import type { CacheView } from '../../adapters/kube/cache';
import type { ConfigMap, KubeObject, Resource, Secret } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import type { WatchSource } from '../../adapters/kube/watch';
import {
  BUNDLE_CONFIG_MAP,
  BUNDLE_KEY,
  bundleOf,
  certificateBlocks,
  clientAuthorities,
  CLIENT_AUTHORITY_CONFIG_MAP,
  CLUSTER_AUTHENTICATION,
  isOurs,
  type NamedBundle,
  problemOfForeign,
  SERVER_AUTHORITY,
  serverNames,
  SERVING_SECRET,
  validOf,
} from '../../core/certificates';
import { CONTROLLER_CONFIG, internalHostOf } from '../../core/controller-config';
import { failureName } from '../../core/errors';
import { FIELD_MANAGER } from '../../core/names';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { type Authority, pairIn, PairKeeper } from './pair-keeper';
import {
  absorb,
  type Follower,
  followStored,
  ownMetadata,
  storedCertificates,
  textIn,
  textOf,
} from './stored';
import type { StoredCertificates } from './stored';

/** Certificates end while nothing changes. */
const LONGEST_MS = 3_600_000;
const COALESCING = { quietMs: 100, longestMs: 1_000 };
/** What is kept together: each is retried by itself. */
const SERVER = 'server';
const CLIENTS = 'clients';

interface CertificateDeps {
  readonly source: WatchSource;
  /** Its replies go to the given function. */
  readonly writerWith: (absorb: (resource: Resource, object: KubeObject) => void) => Writer;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly controllerConfigs: CacheView<KubeObject>;
  readonly namespace: string;
  readonly serverNames: readonly string[];
  /** False: another program issues the certificate of the server. */
  readonly issues: boolean;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class CertificateController {
  readonly #deps: CertificateDeps;
  readonly #stored: StoredCertificates;
  readonly #writer: Writer;
  readonly #keeper: PairKeeper;
  readonly #queue: WorkQueue;
  readonly #following: Promise<void>;

  constructor(deps: CertificateDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#stored = storedCertificates(deps.namespace, deps.log);
    this.#writer = deps.writerWith((resource, object) => absorb(this.#stored, resource, object));
    this.#keeper = new PairKeeper({
      ...{ writer: this.#writer, events: deps.events, log: deps.log, namespace: deps.namespace },
      lookAgainAt: (atMs, nowMs) =>
        this.#queue.addAfter(SERVER, Math.min(Math.max(atMs - nowMs, 1_000), LONGEST_MS)),
    });
    this.#queue = new WorkQueue(
      {
        work: (key) => (key === SERVER ? this.#keepServer() : this.#keepClients()),
        onFailure: (failure) => {
          const isPassing = ['ApiUnavailable', 'Conflict'].includes(
            failureName(failure.error) ?? '',
          );
          tellFailure(deps.log, failure, 'certificates stay for now', isPassing);
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => {
      for (const key of [SERVER, CLIENTS]) this.#queue.add(key);
    };
    this.#following = followStored(this.#stored, deps.source, { signal: leading, changed });
    const unsubscribe = deps.controllerConfigs.subscribe(() => {
      if (this.#stored.serving.cache.isSynced) this.#queue.add(SERVER);
    });
    leading.addEventListener('abort', unsubscribe);
  }

  /** What the server and its hosts show each other; undefined = not all of it has been seen. */
  bundles(): readonly NamedBundle[] | undefined {
    const { serving, bundle, clientAuthority } = this.#stored;
    if (![serving, bundle, clientAuthority].every(({ cache }) => cache.isSynced)) return undefined;
    const served = serving.object === undefined ? '' : textIn(serving.object, 'tls.crt');
    return [
      { bundle: SERVING_SECRET, pem: served },
      { bundle: BUNDLE_CONFIG_MAP, pem: bundle.object?.data?.[BUNDLE_KEY] ?? '' },
      {
        bundle: CLIENT_AUTHORITY_CONFIG_MAP,
        pem: clientAuthority.object?.data?.[BUNDLE_KEY] ?? '',
      },
    ];
  }

  /** Returns a function that stops. */
  onChange(listener: () => void): () => void {
    const ends = Object.values(this.#stored).map(({ cache }: Follower<KubeObject>) => {
      void cache.synced.then(listener);
      return cache.subscribe(listener);
    });
    return () => {
      for (const end of ends) end();
    };
  }

  async idle(): Promise<void> {
    await Promise.all([this.#following, this.#queue.idle()]);
  }

  async #keepClients(): Promise<void> {
    const { clientAuthority, cluster } = this.#stored;
    const nowMs = this.#now();
    this.#queue.addAfter(CLIENTS, LONGEST_MS);
    const kept = clientAuthority.object;
    if (kept !== undefined && !isOurs(kept.metadata)) return;
    const found = clientAuthorities(cluster.object?.data?.[CLUSTER_AUTHENTICATION.key], nowMs);
    this.#keeper.tell(clientAuthority, 'says' in found ? found : undefined);
    if ('says' in found) return;
    if (await this.#publish(clientAuthority, found.pem)) {
      const count = certificateBlocks(found.pem).length;
      this.#deps.log.info(
        { object: textOf(clientAuthority), count },
        'authorities of kubelets kept',
      );
    }
  }

  async #keepServer(): Promise<void> {
    const { serving, bundle } = this.#stored;
    const nowMs = this.#now();
    this.#queue.addAfter(SERVER, LONGEST_MS);
    const served = serving.object;
    if (!this.#deps.issues || (served !== undefined && !isOurs(served.metadata))) {
      await this.#followForeign(served, nowMs);
      return;
    }
    const authority = await this.#keeper.authority(SERVER_AUTHORITY, this.#stored.authority, {
      nowMs,
      wasGone: served === undefined ? undefined : this.#wasGone(),
    });
    if (authority === undefined) return;
    const pem = bundleOf(authority.certificate, authority.previous, nowMs);
    await this.#publish(bundle, pem);
    await this.#keepServing(authority, pem, nowMs);
  }

  /** Its authority, where it names one, is what machines need. */
  async #followForeign(served: Secret | undefined, nowMs: number): Promise<void> {
    const { serving, bundle } = this.#stored;
    const { namespace } = this.#deps;
    const pair = served === undefined ? undefined : pairIn(served);
    const problem = pair === undefined ? undefined : problemOfForeign(pair, nowMs, namespace);
    this.#keeper.tell(serving, problem);
    const pem = served === undefined ? '' : validOf([textIn(served, BUNDLE_KEY)], nowMs);
    if (pem !== '' || bundle.object?.data?.[BUNDLE_KEY] !== undefined) {
      await this.#publish(bundle, pem);
    }
  }

  #wasGone(): string {
    return `machines trust it when they have it (kubectl -n ${this.#deps.namespace} get configmap ${BUNDLE_CONFIG_MAP}; docs/certificates.md)`;
  }

  async #keepServing(authority: Authority, bundle: string, nowMs: number): Promise<void> {
    const { serving } = this.#stored;
    const { controllerConfigs, namespace, serverNames: set } = this.#deps;
    const internalHost = internalHostOf(controllerConfigs.get(CONTROLLER_CONFIG));
    const names = serverNames({ set, internalHost, namespace });
    const use = {
      what: 'the certificate of the server',
      ...{ commonName: 'slipway-server', names, isServer: true, isClient: false },
    };
    await this.#keeper.issue(serving, authority, { ...use, bundle }, nowMs);
  }

  /** @returns whether it was written */
  async #publish(follower: Follower<ConfigMap>, pem: string): Promise<boolean> {
    const { object, resource, key } = follower;
    if (object === undefined) {
      await this.#writer.create(
        resource,
        { metadata: ownMetadata(follower), data: { [BUNDLE_KEY]: pem } },
        FIELD_MANAGER.CONTROLLERS,
      );
      return true;
    }
    if (!isOurs(object.metadata) || (object.data?.[BUNDLE_KEY] ?? '') === pem) return false;
    const { resourceVersion } = object.metadata;
    const change = {
      metadata: { resourceVersion },
      data: { [BUNDLE_KEY]: pem === '' ? null : pem },
    };
    await this.#writer.patch(resource, key, change, { manager: FIELD_MANAGER.CONTROLLERS });
    return true;
  }

  #now(): number {
    return (this.#deps.now ?? Date.now)();
  }
}
