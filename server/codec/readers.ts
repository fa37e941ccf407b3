/** Who may read what is in Temporal: the API server knows the token, and its rules say what its user may do. */

import { createHash } from 'node:crypto';
import type { KubeClient } from '../../adapters/kube/client';
import { mayDo, userOfToken } from '../../adapters/kube/reviews';
import { SLIPWAY_GROUP } from '../../core/names';

export interface Reader {
  readonly username: string;
  readonly mayRead: boolean;
}

/** Undefined = the token is of nobody. */
export type Judge = (token: string) => Promise<Reader | undefined>;

/** No object has this name: it is the right to read what is in Temporal. */
const PAYLOADS = { group: SLIPWAY_GROUP, resource: 'payloads', verb: 'get' } as const;

/** One page of a history is many requests. The API server itself remembers a token as long. */
const REMEMBERED_MS = 10_000;
const MOST_REMEMBERED = 1_000;

export function judgeBy(
  client: Pick<KubeClient, 'ask'>,
  now: () => number = () => performance.now(),
): Judge {
  const known = new Map<
    string,
    { readonly atMs: number; readonly reader: Promise<Reader | undefined> }
  >();
  return (token) => {
    const key = createHash('sha256').update(token).digest('base64');
    const found = known.get(key);
    if (found !== undefined && now() - found.atMs < REMEMBERED_MS) return found.reader;
    const reader = ask(client, token);
    known.delete(key);
    known.set(key, { atMs: now(), reader });
    void reader.catch(() => known.delete(key));
    for (const oldest of known.keys()) {
      if (known.size <= MOST_REMEMBERED) break;
      known.delete(oldest);
    }
    return reader;
  };
}

async function ask(client: Pick<KubeClient, 'ask'>, token: string): Promise<Reader | undefined> {
  const user = await userOfToken(client, token);
  if (user === undefined) return undefined;
  return { username: user.username, mayRead: await mayDo(client, user, PAYLOADS) };
}
