/**
 * A cache of one kind of object, fed by a watch: lookups cost no request. Replies to own writes are
 * added at once.
 */

import { isRecord } from '../../core/is-record';
import type { Backoff } from '../../core/backoff';
import { messageOf } from '../../core/errors';
import { versionOf } from '../../core/object-meta';
import type { ListResult, WatchEvent } from './client';
import type { KubeObject, Resource } from './resources';
import type { Log } from './transport';
import { followChanges, type WatchSource, type WatchTarget } from './watch';

interface CacheOptions<T extends KubeObject> extends Omit<WatchTarget<T>, 'shrink'> {
  readonly log: Log;
  /** Keeps only the fields that are read. Must be idempotent. */
  readonly transform?: (object: T) => T;
  /** Secondary lookups: name → keys of an object. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>>;
  readonly backoff?: Backoff;
  /** The API server gives no right to; the cache stays empty or outdated. */
  readonly onRefused?: () => void;
}

export type CacheEvent<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'modified'; readonly object: T; readonly previous: T }
  | { readonly type: 'deleted'; readonly object: T };

type CacheListener<T> = (event: CacheEvent<T>) => void;

export interface CacheView<T> {
  readonly synced: Promise<void>;
  readonly isSynced: boolean;
  /** The newest resource version, also of removed objects. */
  readonly newest: number;
  get(name: string, namespace?: string): T | undefined;
  list(): readonly T[];
  byIndex(index: string, key: string): readonly T[];
  /** Returns a function that stops. */
  subscribe(listener: CacheListener<T>): () => void;
}

export class WatchCache<T extends KubeObject> implements CacheView<T> {
  /** Resolves at the first complete list. */
  readonly synced: Promise<void>;
  readonly #options: CacheOptions<T>;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Map<string, Set<string>>>();
  readonly #listeners = new Set<CacheListener<T>>();
  readonly #markSynced: () => void;
  #isSynced = false;
  #isServed = false;
  #snapshot: readonly T[] | undefined;
  /** An older object that is absent is deleted. */
  #seen = 0;
  /** Older events of the watch are not new. */
  #takenOverAt = -Infinity;
  #newest = 0;
  readonly #waiting = new Set<{ readonly version: number; readonly reached: () => void }>();
  #warned = false;
  #heardAt = performance.now();

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    let markSynced = (): void => undefined;
    this.synced = new Promise((resolve) => {
      markSynced = resolve;
    });
    this.#markSynced = () => {
      markSynced();
    };
    for (const index of Object.keys(options.indexes ?? {})) this.#indexes.set(index, new Map());
  }

  get resource(): Resource<T> {
    return this.#options.resource;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Of an optional kind: whether the server knew it when it was last listed. */
  get isServed(): boolean {
    return this.#isServed;
  }

  get size(): number {
    return this.#objects.size;
  }

  /**
   * Milliseconds. The server sends a sign each minute: a longer silence is the age of the cache.
   */
  get silentMs(): number {
    return performance.now() - this.#heardAt;
  }

  /** Includes own writes that the watch has not shown. */
  get newest(): number {
    return this.#newest;
  }

  /** @returns false after `patienceMs` */
  async reached(version: number, patienceMs: number): Promise<boolean> {
    if (version <= this.#seen) return true;
    return new Promise((resolve) => {
      const done = (isReached: boolean) => (): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve(isReached);
      };
      const timer = setTimeout(() => {
        done(false)();
      }, patienceMs);
      const waiting = { version, reached: done(true) };
      this.#waiting.add(waiting);
    });
  }

  /** Until the signal aborts; survives an absent API server. */
  async run(source: WatchSource, signal: AbortSignal): Promise<void> {
    const { log, backoff } = this.#options;
    await followChanges(
      source,
      { ...this.#options, shrink: (object) => this.#keep(object) ?? object },
      {
        listed: (list) => {
          this.#replaceAll(list);
          // A cluster that was restored from a backup has lower versions.
          this.#takenOverAt = -Infinity;
        },
        changed: (event) => {
          this.#change(event);
        },
        heard: () => {
          this.#heardAt = performance.now();
        },
        refused: () => {
          this.#options.onRefused?.();
        },
      },
      { signal, log, ...(backoff === undefined ? {} : { backoff }) },
    );
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(cacheKey(name, namespace));
  }

  /** The same array until a change, so do not modify it. */
  list(): readonly T[] {
    this.#snapshot ??= [...this.#objects.values()];
    return this.#snapshot;
  }

  byIndex(index: string, key: string): readonly T[] {
    const keys = this.#indexes.get(index)?.get(key);
    if (keys === undefined) return [];
    return [...keys].flatMap((objectKey) => this.#objects.get(objectKey) ?? []);
  }

  subscribe(listener: CacheListener<T>): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Adds the reply to an own write, unless the watch has shown something newer. A deleted object
   * stays deleted.
   */
  absorb(object: T): void {
    const kept = this.#keep(object);
    if (kept === undefined) return;
    const known = this.#objects.get(keyOf(kept));
    const isNewer =
      known === undefined
        ? versionOf(kept) > this.#seen
        : known.metadata.uid === kept.metadata.uid && versionOf(kept) > versionOf(known);
    if (isNewer) this.#put(kept);
  }

  takeOver(list: ListResult<T>): void {
    const listedAt = Number(list.resourceVersion);
    if (!(listedAt > this.#seen)) return;
    this.#replaceAll(list);
    this.#takenOverAt = listedAt;
  }

  #replaceAll(list: ListResult<T>): void {
    const listedAt = Number(list.resourceVersion);
    const present = new Set<string>();
    for (const item of list.items) {
      const kept = this.#keep(item);
      if (kept === undefined) continue;
      const key = keyOf(kept);
      present.add(key);
      const known = this.#objects.get(key);
      if (known === undefined || versionOf(kept) > versionOf(known)) this.#put(kept);
    }
    for (const [key, known] of this.#objects) {
      // An own creation may be newer than the list.
      if (!present.has(key) && versionOf(known) <= listedAt) this.#remove(key, known);
    }
    this.#hasSeen(listedAt);
    this.#isSynced = true;
    this.#isServed = list.resourceVersion !== '';
    this.#markSynced();
  }

  #change(event: WatchEvent<T>): void {
    const kept = this.#keep(event.object);
    if (kept === undefined) return;
    const key = keyOf(kept);
    const known = this.#objects.get(key);
    const version = versionOf(kept);
    if (event.type === 'DELETED') {
      // A deletion of an earlier object of this name keeps the new one.
      if (known !== undefined && version >= versionOf(known)) this.#remove(key, kept);
    } else {
      const isOld = version <= (known === undefined ? this.#takenOverAt : versionOf(known));
      if (!isOld) this.#put(kept);
    }
    this.#hasSeen(version);
  }

  #hasSeen(version: number): void {
    if (version <= this.#seen) return;
    this.#seen = version;
    for (const waiting of this.#waiting) if (waiting.version <= version) waiting.reached();
  }

  #keep(object: T): T | undefined {
    try {
      if (!isRecord(object.metadata) || typeof object.metadata.name !== 'string') {
        throw new Error('it has no metadata.name');
      }
      return this.#options.transform?.(object) ?? withoutManagedFields(object);
    } catch (error) {
      const fields = { resource: this.resource.plural, reason: messageOf(error) };
      const { log } = this.#options;
      if (this.#warned) log.debug(fields, 'skipped a malformed object');
      else log.warn(fields, 'skipped a malformed object');
      this.#warned = true;
      return undefined;
    }
  }

  #put(object: T): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    this.#newest = Math.max(this.#newest, versionOf(object));
    this.#objects.set(key, object);
    this.#snapshot = undefined;
    if (previous !== undefined) this.#index(previous, key, 'remove');
    this.#index(object, key, 'add');
    if (previous === undefined) this.#tell({ type: 'added', object });
    else if (!isSameContent(previous, object)) this.#tell({ type: 'modified', object, previous });
  }

  #remove(key: string, object: T): void {
    const previous = this.#objects.get(key);
    this.#newest = Math.max(this.#newest, versionOf(object));
    this.#objects.delete(key);
    this.#snapshot = undefined;
    if (previous !== undefined) this.#index(previous, key, 'remove');
    this.#tell({ type: 'deleted', object });
  }

  #index(object: T, objectKey: string, change: 'add' | 'remove'): void {
    for (const [name, keysOf] of Object.entries(this.#options.indexes ?? {})) {
      const index = this.#indexes.get(name);
      if (index === undefined) continue;
      for (const key of keysOf(object)) {
        const members = index.get(key) ?? new Set();
        if (change === 'add') members.add(objectKey);
        else members.delete(objectKey);
        if (members.size === 0) index.delete(key);
        else index.set(key, members);
      }
    }
  }

  #tell(event: CacheEvent<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#options.log.error(
          { resource: this.resource.plural, err: error },
          'listener of a watch cache failed',
        );
      }
    }
  }
}

function withoutManagedFields<T extends KubeObject>(object: T): T {
  const metadata: T['metadata'] & { managedFields?: unknown } = { ...object.metadata };
  delete metadata.managedFields;
  return { ...object, metadata };
}

function isSameContent(a: KubeObject, b: KubeObject): boolean {
  return contentOf(a) === contentOf(b);
}

function contentOf(object: KubeObject): string {
  return JSON.stringify(object, (key, value: unknown) =>
    key === 'resourceVersion' ? undefined : value,
  );
}

function keyOf(object: KubeObject): string {
  return cacheKey(object.metadata.name, object.metadata.namespace);
}

function cacheKey(name: string, namespace?: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
