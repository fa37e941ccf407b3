/**
 * Issues the certificates between the processes and a Temporal of this cluster. A client certificate of
 * somebody else stays as it is, and then none is issued.
 */

import type { KubeClient } from '../../adapters/kube/client';
import {
  SECRETS,
  type KubeObject,
  type Resource,
  type Secret,
} from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { unlessAbsent } from '../../adapters/kube/unless-absent';
import type { WatchSource } from '../../adapters/kube/watch';
import {
  bundleOf,
  halfBrought,
  isOurs,
  TEMPORAL_AUTHORITY,
  TEMPORAL_SERVER_SECRET,
  temporalNames,
} from '../../core/certificates';
import { failureName } from '../../core/errors';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { PairKeeper } from './pair-keeper';
import { absorb, followStored, storedForTemporal, textOf, type StoredObject } from './stored';

/** The Secret in Temporal's namespace is not watched. */
const LOOK_MS = 60_000;
const COALESCING = { quietMs: 100, longestMs: 1_000 };
const ALL = 'Temporal';

interface TemporalCertificateDeps {
  readonly source: WatchSource & Pick<KubeClient, 'get'>;
  /** Its replies go to the given function. */
  readonly writerWith: (absorb: (resource: Resource, object: KubeObject) => void) => Writer;
  readonly events: EventRecorder;
  readonly log: Log;
  readonly namespace: string;
  readonly temporalNamespace: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class TemporalCertificates {
  readonly #deps: TemporalCertificateDeps;
  readonly #stored: ReturnType<typeof storedForTemporal>;
  readonly #keeper: PairKeeper;
  readonly #queue: WorkQueue;
  readonly #following: Promise<void>;

  constructor(deps: TemporalCertificateDeps, leading: AbortSignal) {
    const { log, events, namespace } = deps;
    this.#deps = deps;
    this.#stored = storedForTemporal(namespace, log);
    this.#keeper = new PairKeeper({
      ...{ events, log, namespace },
      writer: deps.writerWith((resource, object) => absorb(this.#stored, resource, object)),
      // It looks every minute.
      lookAgainAt: () => undefined,
    });
    this.#queue = new WorkQueue(
      {
        work: () => this.#keep(),
        onFailure: (failure) => {
          const isPassing = ['ApiUnavailable', 'Conflict'].includes(
            failureName(failure.error) ?? '',
          );
          tellFailure(log, failure, 'certificates between Slipway and Temporal stay', isPassing);
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => this.#queue.add(ALL);
    this.#following = followStored(this.#stored, deps.source, { signal: leading, changed });
  }

  async idle(): Promise<void> {
    await Promise.all([this.#following, this.#queue.idle()]);
  }

  async #keep(): Promise<void> {
    const { authority: storedAuthority, client } = this.#stored;
    const nowMs = (this.#deps.now ?? Date.now)();
    this.#queue.addAfter(ALL, LOOK_MS);
    if (client.object !== undefined && !isOurs(client.object.metadata)) return;
    const server = await this.#server();
    const isBrought = server.object !== undefined && !isOurs(server.object.metadata);
    const half = halfBrought(textOf(server), this.#deps.namespace);
    this.#keeper.tell(server, isBrought ? half : undefined);
    if (isBrought) return;
    const isFirst = client.object === undefined && server.object === undefined;
    const wasGone = isFirst ? undefined : 'what it had signed is issued anew';
    const authority = await this.#keeper.authority(TEMPORAL_AUTHORITY, storedAuthority, {
      ...{ nowMs, wasGone },
    });
    if (authority === undefined) return;
    const bundle = bundleOf(authority.certificate, authority.previous, nowMs);
    const ofServer = {
      what: 'the certificate of Temporal',
      commonName: TEMPORAL_SERVER_SECRET,
      names: temporalNames(this.#deps.temporalNamespace),
      ...{ bundle, isServer: true, isClient: true },
    };
    const ofClient = {
      what: 'the certificate by which Temporal knows the processes',
      commonName: 'slipway',
      names: [],
      ...{ bundle, isServer: false, isClient: true },
    };
    await this.#keeper.issue(server, authority, ofServer, nowMs);
    await this.#keeper.issue(client, authority, ofClient, nowMs);
  }

  async #server(): Promise<StoredObject<Secret>> {
    const key = { namespace: this.#deps.temporalNamespace, name: TEMPORAL_SERVER_SECRET };
    const object = await unlessAbsent(this.#deps.source.get(SECRETS, key));
    return { resource: SECRETS, key, object };
  }
}
