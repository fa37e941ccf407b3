/** Who somebody is, and what they may do: reviews are asked, and never stored. */

import { isRecord } from '../../core/is-record';
import { valueAt } from '../../core/values-at';
import type { KubeClient } from './client';

type Asking = Pick<KubeClient, 'ask'>;

/** As the API server knows them. */
export interface KubeUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface Access {
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const AUTHENTICATION = 'authentication.k8s.io';
const AUTHORIZATION = 'authorization.k8s.io';

/** The user of this client, and the time of the API server. */
export async function whoAmI(
  client: Asking,
): Promise<{ readonly user: string; readonly at: string } | undefined> {
  const answer = await review(client, AUTHENTICATION, { kind: 'SelfSubjectReview' });
  const user = valueAt(answer, 'status', 'userInfo', 'username');
  const time = valueAt(answer, 'metadata', 'creationTimestamp');
  if (typeof user !== 'string') return undefined;
  return { user, at: typeof time === 'string' ? time : new Date().toISOString() };
}

/** Undefined = the token is of nobody. */
export async function userOfToken(client: Asking, token: string): Promise<KubeUser | undefined> {
  const answer = await review(client, AUTHENTICATION, { kind: 'TokenReview', spec: { token } });
  const user = valueAt(answer, 'status', 'user');
  const isKnown = valueAt(answer, 'status', 'authenticated') === true;
  if (!isKnown || !isRecord(user) || typeof user['username'] !== 'string') return undefined;
  return user as unknown as KubeUser;
}

export async function mayDo(client: Asking, user: KubeUser, access: Access): Promise<boolean> {
  const { username, ...more } = user;
  const answer = await review(client, AUTHORIZATION, {
    kind: 'SubjectAccessReview',
    spec: { user: username, ...more, resourceAttributes: access },
  });
  return valueAt(answer, 'status', 'allowed') === true;
}

async function review(
  client: Asking,
  group: string,
  body: { readonly kind: string; readonly spec?: object },
): Promise<unknown> {
  const plural = `${body.kind.toLowerCase()}s`;
  const path = `/apis/${group}/v1/${plural}`;
  return client.ask(path, { apiVersion: `${group}/v1`, ...body }, `create ${plural}.${group}`);
}
