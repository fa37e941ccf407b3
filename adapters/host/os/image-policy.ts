/**
 * containers-policy.json: the most specific scope alone decides.
 *
 * @see https://github.com/containers/image/blob/main/docs/containers-policy.json.5.md
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fail, messageOf } from '../../../core/errors';

/** `accept` = always, `reject` = never, `signed` = with a signature that the policy describes. */
type PolicyDemand = 'accept' | 'reject' | 'signed';

export interface PolicyVerdict {
  readonly demand: PolicyDemand;
  /** `default`, `docker`, or `registry.example/os`. */
  readonly scope: string;
  readonly acceptsByDefault: boolean;
}

type Requirements = readonly { readonly type: string }[];
interface Policy {
  readonly default: Requirements;
  readonly transports?: Readonly<Record<string, Readonly<Record<string, Requirements>>>>;
}

/** In the container tools' order. */
const PLACES = ['etc/containers/policy.json', 'usr/share/containers/policy.json'];

/**
 * Without a policy every image is accepted.
 *
 * @param root - the machine's root directory
 * @throws `ImageRefused` when the policy is unreadable, so its demand is unknown
 */
export async function readImageDemand(root: string, image: string): Promise<PolicyVerdict> {
  for (const place of PLACES) {
    const path = join(root, place);
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw unreadable(path, error);
    });
    if (text !== undefined) return demandOf(parsePolicy(path, text), image);
  }
  return { demand: 'accept', scope: 'default', acceptsByDefault: true };
}

function parsePolicy(path: string, text: string): Policy {
  try {
    return policyIn(JSON.parse(text));
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** @throws an Error naming what containers-policy.json does not allow */
function policyIn(value: unknown): Policy {
  const policy = objectAt(value, 'the policy');
  const transports = policy['transports'];
  return {
    default: requirementsAt(policy['default'], 'default'),
    ...(transports === undefined ? {} : { transports: transportsAt(transports) }),
  };
}

function transportsAt(value: unknown): NonNullable<Policy['transports']> {
  const transports = Object.entries(objectAt(value, 'transports')).map(([transport, scopes]) => [
    transport,
    Object.fromEntries(
      Object.entries(objectAt(scopes, transport)).map(([scope, requirements]) => [
        scope,
        requirementsAt(requirements, `${transport}: ${scope}`),
      ]),
    ),
  ]);
  return Object.fromEntries(transports) as NonNullable<Policy['transports']>;
}

function requirementsAt(value: unknown, where: string): Requirements {
  if (!Array.isArray(value)) throw new Error(`${where} is not a list of requirements`);
  return value.map((requirement: unknown) => {
    const { type } = objectAt(requirement, where);
    if (typeof type === 'string') return { type };
    throw new Error(`a requirement of ${where} has no type`);
  });
}

function objectAt(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new Error(`${where} is not an object`);
}

function unreadable(path: string, error: unknown): Error {
  const why = messageOf(error).replace(/\s+/g, ' ');
  return fail('ImageRefused', `the signature policy ${path} cannot be read: ${why}`);
}

function demandOf(policy: Policy, image: string): PolicyVerdict {
  const scopes = policy.transports?.['docker'] ?? {};
  const scope = scopesOf(image).find((name) => Object.hasOwn(scopes, name));
  const requirements = scope === undefined ? policy.default : (scopes[scope] ?? []);
  return {
    demand: strictest(requirements),
    scope: scope === undefined ? 'default' : scope || 'docker',
    acceptsByDefault: strictest(policy.default) === 'accept',
  };
}

/** All requirements must hold; the tools reject an empty list. */
function strictest(requirements: Requirements): PolicyDemand {
  const types = requirements.map(({ type }) => type);
  if (types.length === 0 || types.includes('reject')) return 'reject';
  return types.every((type) => type === 'insecureAcceptAnything') ? 'accept' : 'signed';
}

/** The reference, its repository, every namespace above, then domains with a wildcard. */
function scopesOf(image: string): readonly string[] {
  const repository = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const parts = repository.split('/');
  const namespaces = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
  const labels = (parts[0] ?? '').replace(/:\d+$/, '').split('.');
  const domains = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`);
  return [image, ...namespaces, ...domains, ''];
}
