import type { CacheEvent, CacheView } from '../../../adapters/kube/cache';
import type { KubeObject } from '../../../adapters/kube/resources';

/** Objects in memory, with the reading half of a cache. */
export class Objects<T extends KubeObject> implements CacheView<T> {
  readonly synced = Promise.resolve();
  readonly isSynced = true;
  newest = 0;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(event: CacheEvent<T>) => void>();

  constructor(objects: readonly T[] = []) {
    for (const object of objects) this.#objects.set(object.metadata.name, object);
  }
  get(name: string): T | undefined {
    return this.#objects.get(name);
  }
  list(): readonly T[] {
    return [...this.#objects.values()];
  }
  byIndex(): readonly T[] {
    return [];
  }
  subscribe(listener: (event: CacheEvent<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  remove(name: string): void {
    const object = this.#objects.get(name);
    if (object === undefined) return;
    this.#objects.delete(name);
    for (const listener of this.#listeners) listener({ type: 'deleted', object });
  }
  put(object: T): void {
    const previous = this.#objects.get(object.metadata.name);
    this.#objects.set(object.metadata.name, object);
    const event: CacheEvent<T> =
      previous === undefined ? { type: 'added', object } : { type: 'modified', object, previous };
    for (const listener of this.#listeners) listener(event);
  }
}
