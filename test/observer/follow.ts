/** A watch with the plain Kubernetes client that never ends by itself and misses nothing. */

import type { KubeConfig } from '@kubernetes/client-node';
import { Watch } from '@kubernetes/client-node';
import type { Sight } from './sight';

export interface Followed<T> {
  readonly path: string;
  readonly labelSelector?: string;
  seen(object: T): void;
  /** @param missed - found by a new list: the removal itself was not seen */
  gone(object: T, missed: boolean): void;
  /** Sees while the watch is open. */
  readonly sight?: Sight;
}

interface WatchedObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

/** For an absent API server. */
const RETRY_MS = 200;

/**
 * Resumes where the watch was cut; resolves at the end of the first list. When the API server no
 * longer has that version, it lists again.
 */
export async function follow<T extends WatchedObject>(
  config: KubeConfig,
  followed: Followed<T>,
): Promise<{ stop(): void }> {
  const following = new Following(config, followed);
  await following.listed;
  return following;
}

class Following<T extends WatchedObject> {
  readonly listed: Promise<void>;
  readonly #watch: Watch;
  readonly #known = new Map<string, T>();
  /** The objects of the running list. */
  #listing: Set<string> | undefined;
  #version: string | undefined;
  #stopped = false;
  #controller: AbortController | undefined;
  #resolveListed: () => void = () => undefined;

  constructor(
    config: KubeConfig,
    private readonly followed: Followed<T>,
  ) {
    this.#watch = new Watch(config);
    this.listed = new Promise((resolve) => {
      this.#resolveListed = resolve;
    });
    this.#open();
  }

  stop(): void {
    this.#stopped = true;
    this.#controller?.abort();
  }

  #open(): void {
    const { path, labelSelector } = this.followed;
    if (this.#version === undefined) this.#listing = new Set();
    const from =
      this.#version === undefined
        ? // What exists comes first, then one bookmark: a list without a second request.
          { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
        : { resourceVersion: this.#version };
    let isCut = false;
    const cut = (): void => {
      isCut = true;
      this.#openLater();
    };
    this.#watch
      .watch(
        path,
        { labelSelector, allowWatchBookmarks: true, ...from },
        (phase: string, object: T) => this.#event(phase, object),
        cut,
      )
      .then((controller) => {
        this.#controller = controller;
        if (this.#stopped) controller.abort();
        // A refused watch was never open. The server has answered any other.
        if (!isCut) this.followed.sight?.looked(performance.now());
      }, cut);
  }

  /** The client cuts a watch that is silent for 30 s: a hanging server is noticed that late. */
  #openLater(): void {
    this.followed.sight?.lost(performance.now());
    if (!this.#stopped) setTimeout(() => this.#stopped || this.#open(), RETRY_MS);
  }

  #event(phase: string, object: T): void {
    if (phase === 'ERROR') return this.#listAgain();
    this.followed.sight?.looked(performance.now());
    // A list has no order: a list that is cut begins again.
    if (this.#listing === undefined || phase === 'BOOKMARK') {
      this.#version = object.metadata?.resourceVersion ?? this.#version;
    }
    if (phase === 'BOOKMARK') return this.#endOfList();
    const key = `${object.metadata?.namespace ?? ''}/${object.metadata?.name ?? ''}`;
    if (phase === 'DELETED') {
      this.#known.delete(key);
      this.followed.gone(object, false);
      return;
    }
    const known = this.#known.get(key);
    this.#known.set(key, object);
    this.#listing?.add(key);
    // Another object of the same name: the first one is gone.
    if (known !== undefined && known.metadata?.uid !== object.metadata?.uid) {
      this.followed.gone(known, true);
    }
    this.followed.seen(object);
  }

  /** The version to resume from is too old. */
  #listAgain(): void {
    this.#version = undefined;
  }

  #endOfList(): void {
    const listing = this.#listing;
    this.#listing = undefined;
    if (listing === undefined) return;
    for (const [key, object] of this.#known) {
      if (listing.has(key)) continue;
      this.#known.delete(key);
      this.followed.gone(object, true);
    }
    this.#resolveListed();
  }
}
