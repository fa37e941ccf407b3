/**
 * LIST once, then WATCH with bookmarks. A broken watch resumes from the last version; only an
 * expired version (410) costs another LIST.
 *
 * `ListWatch` of `@kubernetes/client-node` 2.0 requests no bookmarks, lists in one page, and stops
 * at the first connection error.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, type Backoff } from '../../core/backoff';
import { messageOf } from '../../core/errors';
import { codeOf } from './api-errors';
import type { ListOptions, ListResult, Shrink, WatchEvent, WatchOptions } from './client';
import type { KubeObject, Resource } from './resources';
import type { Log } from './transport';

export interface WatchSource {
  list<T extends KubeObject>(
    resource: Resource<T>,
    options?: ListOptions,
    shrink?: Shrink<T>,
  ): Promise<ListResult<T>>;
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<T>>;
}

export interface WatchTarget<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** A kind that is not served has no objects, and is requested again now and then. */
  readonly optional?: boolean;
  /** Applied while objects are read. */
  readonly shrink?: Shrink<T>;
}

interface WatchHandler<T> {
  /** All other objects are gone. */
  listed(list: ListResult<T>): void;
  changed(event: WatchEvent<T>): void;
  /** With or without changes. */
  heard?(): void;
  /** A LIST or a WATCH is repeated. */
  failed?(reason: string): void;
  /** The API server gives no right to. Once per reason. */
  refused?(reason: string): void;
}

const BACKOFF: Backoff = { firstMs: 200, maxMs: 5_000 };

const ABSENT_MS = 30_000;

/** Until the signal aborts; never throws. */
export async function followChanges<T extends KubeObject>(
  source: WatchSource,
  target: WatchTarget<T>,
  handler: WatchHandler<T>,
  options: { readonly signal: AbortSignal; readonly log: Log; readonly backoff?: Backoff },
): Promise<void> {
  const { signal, log } = options;
  const { resource } = target;
  const pause = new Pause(options.backoff ?? BACKOFF, signal);
  let version: string | undefined;
  let missing = false;
  let refused: string | undefined;
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const list = await source.list(resource, { ...selection(target), signal }, target.shrink);
        handler.heard?.();
        handler.listed(list);
        version = list.resourceVersion;
        missing = false;
        refused = undefined;
        log.debug({ resource: resource.plural, count: list.items.length }, 'listed');
        // Whoever needs the list alone has ended it: a watch would cost a connection.
        if (signal.aborted) return;
      }
      const events = source.watch(resource, {
        ...selection(target),
        resourceVersion: version,
        signal,
        opened: () => {
          refused = undefined;
          handler.heard?.();
        },
      });
      for await (const event of events) {
        pause.reset();
        handler.heard?.();
        version = versionOf(event.object) ?? version;
        if (event.type !== 'BOOKMARK') handler.changed(event);
      }
      // Never in a tight loop.
      await pause.wait();
    } catch (error) {
      if (signal.aborted) return;
      const code = codeOf(error);
      handler.failed?.(messageOf(error));
      if (code === 410) version = undefined;
      if (code === 404) {
        version = undefined;
        if (!missing) reportMissing(target, handler, log);
        missing = true;
        await pause.wait(target.optional === true ? ABSENT_MS : undefined);
        continue;
      }
      const reason = messageOf(error);
      // The cache stays empty or outdated.
      if ((code === 401 || code === 403) && reason !== refused) {
        refused = reason;
        handler.refused?.(reason);
        log.warn({ resource: resource.plural, reason }, 'the API server refuses the watch');
      } else log.debug({ resource: resource.plural, reason }, 'resuming watch');
      await pause.wait();
    }
  }
}

function reportMissing<T extends KubeObject>(
  target: WatchTarget<T>,
  handler: WatchHandler<T>,
  log: Log,
): void {
  const fields = { resource: target.resource.plural, group: target.resource.group };
  if (target.optional === true) {
    log.debug(fields, 'kind is not served; going on without it');
    handler.listed({ items: [], resourceVersion: '' });
  } else {
    log.warn(fields, 'kind is not served; waiting for its CustomResourceDefinition');
  }
}

function selection<T extends KubeObject>(target: WatchTarget<T>): ListOptions {
  const { namespace, labelSelector, fieldSelector } = target;
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

function versionOf(object: unknown): string | undefined {
  const version = (object as Partial<KubeObject>).metadata?.resourceVersion;
  return version === undefined || version === '' ? undefined : version;
}

/** Growing, jittered delays; ends early on abort. */
class Pause {
  #failures = 0;

  constructor(
    readonly backoff: Backoff,
    readonly signal: AbortSignal,
  ) {}

  reset(): void {
    this.#failures = 0;
  }

  async wait(fixedMs?: number): Promise<void> {
    if (fixedMs === undefined) this.#failures += 1;
    const delayMs = fixedMs ?? backoffMs(this.backoff, this.#failures) * (0.5 + Math.random());
    await delay(delayMs, undefined, { signal: this.signal }).catch(() => undefined);
  }
}
