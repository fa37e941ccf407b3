/** Join tokens as Secrets in their own namespace. Only a hash is stored. */

import { fail, failureName } from '../../core/errors';
import {
  isJoinTokenForgettable,
  type JoinTokenRecord,
  readJoinTokenRecord,
  type StoredJoinToken,
} from '../../core/join';
import { ANNOTATION, JOIN_TOKEN_NAMESPACE, JOIN_TOKEN_TYPE, LABEL } from '../../core/names';
import { WatchCache } from './cache';
import type { KubeClient } from './client';
import { SECRETS, type Secret } from './resources';
import type { Log } from './transport';
import type { WatchSource } from './watch';

const NAME_PREFIX = 'join-token-';

/** Secrets that name a pool. */
const TOKENS = { namespace: JOIN_TOKEN_NAMESPACE, labelSelector: LABEL.JOIN_POOL };

export function joinTokenSecret(record: JoinTokenRecord): Secret {
  const { id, pool, hash, createdAt, expiresAt, description } = record;
  const fields = { pool, hash, createdAt, expiresAt, ...(description && { description }) };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `${NAME_PREFIX}${id}`,
      namespace: JOIN_TOKEN_NAMESPACE,
      labels: { 'app.kubernetes.io/part-of': 'slipway', [LABEL.JOIN_POOL]: pool },
    },
    type: JOIN_TOKEN_TYPE,
    immutable: true,
    data: Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
    ),
  };
}

export class JoinTokenStore {
  constructor(
    readonly client: KubeClient,
    readonly fieldManager: string,
  ) {}

  /**
   * Its Secret is immutable, so that a server that may note its use cannot prolong it or open
   * another pool with it.
   *
   * @throws `Conflict` when this ID exists, `ObjectNotFound` when the namespace is missing
   */
  async create(record: JoinTokenRecord): Promise<void> {
    try {
      await this.client.create(SECRETS, joinTokenSecret(record), {
        fieldManager: this.fieldManager,
      });
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      throw fail(
        'ObjectNotFound',
        `there is no namespace ${JOIN_TOKEN_NAMESPACE}; kubectl apply -f deploy/rbac/join-tokens.yaml`,
      );
    }
  }

  async list(): Promise<readonly StoredJoinToken[]> {
    const { items } = await this.client.list(SECRETS, TOKENS);
    return items
      .map(readJoinTokenSecret)
      .sort((a, b) => compare(a.createdAt ?? '', b.createdAt ?? '') || compare(a.id, b.id));
  }

  /** @returns false when there is no such token */
  async revoke(id: string): Promise<boolean> {
    const key = { name: `${NAME_PREFIX}${id}`, namespace: JOIN_TOKEN_NAMESPACE };
    try {
      const { metadata, type } = await this.client.get(SECRETS, key);
      if (type !== JOIN_TOKEN_TYPE) return false;
      await this.client.delete(SECRETS, key, { ...(metadata.uid && { uid: metadata.uid }) });
      return true;
    } catch (error) {
      if (failureName(error) === 'ObjectNotFound') return false;
      throw error;
    }
  }

  /** Deletes the tokens that expired at least a day ago. @returns their IDs */
  async prune(nowMs: number): Promise<readonly string[]> {
    const old = (await this.list()).filter(
      (token) => !('problem' in token) && isJoinTokenForgettable(token, nowMs),
    );
    for (const { id } of old) await this.revoke(id);
    return old.map(({ id }) => id);
  }
}

/** By ID, from the API server. */
export async function readJoinTokens(
  client: KubeClient,
): Promise<ReadonlyMap<string, JoinTokenRecord>> {
  const { items } = await client.list(SECRETS, TOKENS);
  return new Map(
    items
      .map(readJoinTokenSecret)
      .flatMap((token) => ('problem' in token ? [] : [[token.id, token]])),
  );
}

/** In memory, fed by a watch. */
interface WatchedJoinTokens {
  readonly isSynced: boolean;
  readonly synced: Promise<void>;
  /** Since the API server's last sign. */
  readonly silentMs: number;
  find(id: string): JoinTokenRecord | undefined;
  /** Keeps the tokens while the API server is absent. */
  run(source: WatchSource, signal: AbortSignal): Promise<void>;
  /** Called with the ID of every changed token; returns a function that stops. */
  subscribe(listener: (id: string) => void): () => void;
}

/** An invalid Secret is logged and admits no machine. */
export function watchJoinTokens(log: Log): WatchedJoinTokens {
  const cache = new WatchCache<Secret>({ resource: SECRETS, ...TOKENS, log });
  const records = new Map<string, JoinTokenRecord>();
  cache.subscribe(({ type, object }) => {
    const token = readJoinTokenSecret(object);
    if (type !== 'deleted' && !('problem' in token)) {
      records.set(token.id, token);
      return;
    }
    records.delete(token.id);
    if (type !== 'deleted' && 'problem' in token) {
      log.warn({ secret: object.metadata.name, reason: token.problem }, 'unusable join token');
    }
  });
  return {
    get isSynced() {
      return cache.isSynced;
    },
    synced: cache.synced,
    find: (id) => records.get(id),
    get silentMs() {
      return cache.silentMs;
    },
    run: (source, signal) => cache.run(source, signal),
    subscribe: (listener) =>
      cache.subscribe(({ object }) => {
        listener(idOf(object));
      }),
  };
}

/**
 * @param at - RFC 3339
 * @throws `ObjectNotFound` when it was revoked in between, `ApiUnavailable`
 */
export async function writeJoinTokenUse(
  client: KubeClient,
  fieldManager: string,
  use: { readonly id: string; readonly at: string },
): Promise<void> {
  await client.patch(
    SECRETS,
    { name: `${NAME_PREFIX}${use.id}`, namespace: JOIN_TOKEN_NAMESPACE },
    { metadata: { annotations: { [ANNOTATION.LAST_USED]: use.at } } },
    { fieldManager },
  );
}

/** Or why the Secret has none; does not quote it. */
export function readJoinTokenSecret(secret: Secret): StoredJoinToken {
  const { metadata, type, data = {} } = secret;
  const id = idOf(secret);
  const lastUsedAt = metadata.annotations?.[ANNOTATION.LAST_USED];
  const fields: Record<string, string | undefined> = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
  );
  const record =
    type === JOIN_TOKEN_TYPE
      ? readJoinTokenRecord(id, { ...fields, lastUsedAt })
      : { problem: `its type is not ${JOIN_TOKEN_TYPE}` };
  if (!('problem' in record)) return record;
  const createdAt = metadata.creationTimestamp;
  return { id, ...record, ...(createdAt === undefined ? {} : { createdAt }) };
}

/** In the name, so that the API server keeps IDs unique. */
function idOf({ metadata: { name } }: Secret): string {
  return name.startsWith(NAME_PREFIX) ? name.slice(NAME_PREFIX.length) : name;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
