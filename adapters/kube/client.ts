import type { WebSocket } from 'ws';
import { failureName, messageOf } from '../../core/errors';
import { readStatus, refusal, unreachable, type ApiStatus } from './api-errors';
import { findEndpoint, type EndpointSettings } from './credentials';
import { eventsOf, type WatchEvent } from './event-stream';
import {
  apiVersionOf,
  describeObject,
  pathOf,
  type KubeObject,
  type ObjectKey,
  type Resource,
} from './resources';
import { Transport, type Log } from './transport';

export type { WatchEvent } from './event-stream';

interface KubeSettings extends EndpointSettings {
  /** In the API server's audit log. */
  readonly userAgent: string;
  /** Without watches; default 64. */
  readonly maxRequests?: number;
  /** Default 30 s. */
  readonly timeoutMs?: number;
  /** Then a watch is restarted; default 90 s. */
  readonly silenceMs?: number;
  readonly log: Log;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

/** Applied as soon as a page is read: lists are long. */
export type Shrink<T> = (object: T) => T;

export interface ListResult<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
}

export interface WatchOptions extends ListOptions {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** The server then ends the watch, and the caller resumes. */
  readonly timeoutSeconds?: number;
  readonly opened?: () => void;
}

export type PatchKind = 'merge' | 'strategic' | 'json';

const PATCH_TYPES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

/**
 * The API server sends a bookmark each minute (`defaultBookmarkFrequency` of its watch cache), so
 * longer silence means a hanging server or a dead connection.
 */
const SILENCE_MS = 90_000;

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Keeps one reply small at 5,000 nodes. */
const PAGE = 500;

/**
 * Sends nothing, so the API server may be absent.
 *
 * @throws an `Error` named SettingsError that names the kubeconfig and its fault
 */
export async function connectKube(settings: KubeSettings): Promise<KubeClient> {
  const endpoint = await findEndpoint(settings).catch((error: unknown) => {
    throw Object.assign(new Error(messageOf(error), { cause: error }), { name: 'SettingsError' });
  });
  return new KubeClient(
    new Transport(endpoint, {
      userAgent: settings.userAgent,
      maxRequests: settings.maxRequests ?? 64,
      timeoutMs: settings.timeoutMs ?? 30_000,
      silenceMs: settings.silenceMs ?? SILENCE_MS,
      log: settings.log,
    }),
    settings.log,
  );
}

const METHODS = {
  get: 'GET',
  create: 'POST',
  replace: 'PUT',
  patch: 'PATCH',
  apply: 'PATCH',
} as const;

interface JsonRequest {
  readonly query?: Query;
  readonly body?: object;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export class KubeClient {
  readonly #transport: Transport;
  readonly #log: Log;

  constructor(transport: Transport, log: Log) {
    this.#transport = transport;
    this.#log = log;
  }

  get server(): string {
    return this.#transport.server;
  }

  /** The last request got no answer. */
  get isAway(): boolean {
    return this.#transport.isAway;
  }

  /** @throws `ObjectNotFound`, `ApiUnavailable` */
  async get<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey & { readonly name: string },
    signal?: AbortSignal,
  ): Promise<T> {
    return this.#object('get', resource, key, {
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /**
   * Page by page.
   *
   * @throws `ApiUnavailable` with `details.code` 410 when the snapshot expired between two pages
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions = {},
    shrink?: Shrink<T>,
  ): Promise<ListResult<T>> {
    const items: T[] = [];
    let resourceVersion = '';
    for await (const page of this.pages(resource, options)) {
      items.push(...(shrink === undefined ? page.items : page.items.map(shrink)));
      resourceVersion = page.resourceVersion;
    }
    return { items, resourceVersion };
  }

  /**
   * One page is in memory at a time.
   *
   * @param options - `pageSize`: objects in a page, default 500
   */
  async *pages<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions & { readonly pageSize?: number } = {},
  ): AsyncGenerator<ListResult<T>> {
    let next: string | undefined;
    do {
      const page = await this.#page(resource, options, next);
      yield page;
      next = page.next;
    } while (next !== undefined);
  }

  /** @throws `Conflict` when it exists */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: { readonly fieldManager?: string } = {},
  ): Promise<T> {
    const { name, namespace } = object.metadata;
    const key = { name, ...(namespace === undefined ? {} : { namespace }) };
    return this.#object('create', resource, key, {
      body: typed(resource, object),
      query: { fieldManager: options.fieldManager },
    });
  }

  /**
   * `resourceVersion` guards against a change in between.
   *
   * @throws `Conflict`
   */
  async replace<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: { readonly subresource?: string; readonly fieldManager?: string } = {},
  ): Promise<T> {
    const { name, namespace } = object.metadata;
    const key = keyOf({ name, namespace, subresource: options.subresource });
    return this.#object('replace', resource, key, {
      body: typed(resource, object),
      query: { fieldManager: options.fieldManager },
    });
  }

  /**
   * Conditional with a `metadata.resourceVersion`.
   *
   * @throws `Conflict` when the condition does not hold, `ObjectNotFound`
   */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    key: ObjectKey & { readonly name: string },
    patch: object,
    options: { readonly kind?: PatchKind; readonly fieldManager?: string } = {},
  ): Promise<T> {
    return this.#object('patch', resource, key, {
      body: patch,
      contentType: PATCH_TYPES[options.kind ?? 'merge'],
      query: { fieldManager: options.fieldManager },
    });
  }

  /** `fieldManager` owns exactly the fields of `object` afterwards. Creates an absent object. */
  async apply<T extends KubeObject>(
    resource: Resource<T>,
    object: {
      readonly metadata: { readonly name: string; readonly namespace?: string };
      readonly [field: string]: unknown;
    },
    options: { readonly fieldManager: string; readonly subresource?: string },
  ): Promise<T> {
    const { name, namespace } = object.metadata;
    const key = keyOf({ name, namespace, subresource: options.subresource });
    return this.#object('apply', resource, key, {
      body: typed(resource, object),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: options.fieldManager, force: true },
    });
  }

  /** If it exists; `uid` protects a new object of the same name. */
  async delete(
    resource: Resource,
    key: ObjectKey & { readonly name: string },
    preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {},
  ): Promise<void> {
    const what = `delete ${describeObject(resource, key)}`;
    const reply = await this.#transport.send({
      method: 'DELETE',
      path: pathOf(resource, key),
      what,
      body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions }),
    });
    if (reply.code >= 300 && reply.code !== 404) {
      throw refusal(what, readStatus(reply.code, reply.body, reply.retryAfter));
    }
  }

  /** Returns a refusal as a value: evictions are often refused. */
  async post(
    path: string,
    body: object,
    what: string,
    signal?: AbortSignal,
  ): Promise<{ readonly ok: true } | { readonly ok: false; readonly status: ApiStatus }> {
    const reply = await this.#transport.send({
      method: 'POST',
      path,
      what,
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    if (reply.code < 300) return { ok: true };
    return { ok: false, status: readStatus(reply.code, reply.body, reply.retryAfter) };
  }

  /** Of reviews, which are asked and never stored. */
  async ask(path: string, body: object, what: string): Promise<unknown> {
    return this.#json(what, 'POST', path, { body });
  }

  /** A paused WebSocket; `what` is the request in words. */
  async socket(
    path: string,
    query: URLSearchParams,
    options: { readonly what: string; readonly protocol: string },
  ): Promise<WebSocket> {
    return this.#transport.upgrade({ path, what: options.what }, query, options.protocol);
  }

  async text(path: string, query: Query = {}): Promise<string> {
    const what = `get ${path}`;
    const reply = await this.#transport.send({ method: 'GET', path, query, what });
    if (reply.code >= 300) throw refusal(what, readStatus(reply.code, reply.body));
    return reply.body;
  }

  /**
   * With bookmarks, until the server ends the watch or the signal aborts it. Both end the iteration
   * normally.
   *
   * @throws `ApiUnavailable` with `details.code` 410 when the version is too old
   */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>> {
    const { signal, namespace, resourceVersion, labelSelector, fieldSelector } = options;
    const timeoutSeconds = options.timeoutSeconds ?? 300 + Math.floor(Math.random() * 300);
    const what = `watch ${resource.plural}`;
    try {
      const reply = await this.#transport.stream({
        method: 'GET',
        path: pathOf(resource, namespace === undefined ? {} : { namespace }),
        query: {
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion,
          labelSelector,
          fieldSelector,
          timeoutSeconds,
        },
        what,
        signal,
      });
      const stream = { what, log: this.#log, opened: options.opened };
      for await (const { type, object } of eventsOf<T>(reply, stream)) {
        yield { type, object: read(resource, object) };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (failureName(error) !== undefined) throw error;
      throw unreachable(what, `the connection broke (${messageOf(error)})`);
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #page<T extends KubeObject>(
    resource: Resource<T>,
    options: ListOptions & { readonly pageSize?: number },
    next: string | undefined,
  ): Promise<ListResult<T> & { readonly next?: string }> {
    const { namespace, labelSelector, fieldSelector, signal, pageSize = PAGE } = options;
    const reply = await this.#json<{
      items?: readonly T[];
      metadata?: { resourceVersion?: string; continue?: string };
    }>(
      `list ${resource.plural}`,
      'GET',
      pathOf(resource, namespace === undefined ? {} : { namespace }),
      {
        query: { limit: pageSize, continue: next, labelSelector, fieldSelector },
        ...(signal === undefined ? {} : { signal }),
      },
    );
    const token = reply.metadata?.continue;
    return {
      items: (reply.items ?? []).map((item) => read(resource, item)),
      resourceVersion: reply.metadata?.resourceVersion ?? '',
      ...(token === undefined || token === '' ? {} : { next: token }),
    };
  }

  async #object<T extends KubeObject>(
    verb: keyof typeof METHODS,
    resource: Resource<T>,
    key: ObjectKey & { readonly name: string },
    request: JsonRequest,
  ): Promise<T> {
    const { namespace } = key;
    const collection = namespace === undefined ? {} : { namespace };
    const path = pathOf(resource, verb === 'create' ? collection : key);
    const what = `${verb} ${describeObject(resource, key)}`;
    return read(resource, await this.#json<T>(what, METHODS[verb], path, request));
  }

  async #json<R>(what: string, method: string, path: string, request: JsonRequest): Promise<R> {
    const { body, ...rest } = request;
    const reply = await this.#transport.send({
      method,
      path,
      what,
      ...rest,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (reply.code >= 300) {
      throw refusal(what, readStatus(reply.code, reply.body, reply.retryAfter));
    }
    return JSON.parse(reply.body) as R;
  }
}

function read<T extends KubeObject>(resource: Resource<T>, stored: T): T {
  return resource.read?.(stored) ?? stored;
}

function typed(resource: Resource, object: object): object {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}

function keyOf(parts: {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly subresource: string | undefined;
}): ObjectKey & { readonly name: string } {
  return {
    name: parts.name,
    ...(parts.namespace === undefined ? {} : { namespace: parts.namespace }),
    ...(parts.subresource === undefined ? {} : { subresource: parts.subresource }),
  };
}
