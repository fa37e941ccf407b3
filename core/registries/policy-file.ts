/** `policy.json` as containers/image reads and writes it. */

import { goQuote } from '../encoding/go-quote';
import { fail, messageOf } from '../errors';
import { isRecord } from '../is-record';
import type { Requirement } from './policy-requirement';

/** Requirements by scope; the empty scope is everything else of the transport. */
export type TransportScopes = ReadonlyMap<string, readonly Requirement[]>;

export interface PolicyFile {
  readonly default: readonly Requirement[];
  readonly transports: ReadonlyMap<string, TransportScopes>;
}

/**
 * @throws `InvalidMachineConfig` with MCO's beginning; what follows is containers/image's for an
 * incomplete text, an unknown key, a missing default and an unknown requirement
 * @see containers/image signature/policy_config.go
 */
export function parsePolicyFile(text: string): PolicyFile {
  try {
    return policyOf(parseJson(text));
  } catch (error) {
    throw fail('InvalidMachineConfig', `error decoding policy json: ${messageOf(error)}`);
  }
}

/** With two spaces per level and without a final newline, as Go writes it. */
export function policyFileText(policy: PolicyFile): string {
  const transports = [...policy.transports].map(([transport, scopes]) => [
    transport,
    sortedObject(scopes),
  ]);
  const plain = {
    default: policy.default,
    transports: sortedObject(new Map(transports as [string, unknown][])),
  };
  return JSON.stringify(plain, null, 2).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sortedObject(entries: ReadonlyMap<string, unknown>): object {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (text.trim() === '') throw new Error('EOF', { cause: error });
    if (endsTooEarly(text, messageOf(error))) throw new Error('unexpected EOF', { cause: error });
    throw error;
  }
}

/** Whether the parser found no fault before the end of the text. */
function endsTooEarly(text: string, message: string): boolean {
  if (/end of JSON input|Unterminated string/.test(message)) return true;
  const position = /at position (\d+)/.exec(message)?.[1];
  return position !== undefined && Number(position) >= text.trimEnd().length;
}

function policyOf(value: unknown): PolicyFile {
  const { default: defaults, transports } = fieldsOf(value, ['default', 'transports']);
  if (defaults === undefined) throw new Error('Default policy is missing');
  const scopes = Object.entries(transports === undefined ? {} : fieldsOf(transports)).map(
    ([transport, given]) => [transport, scopesOf(given)] as const,
  );
  return { default: requirementsOf(defaults), transports: new Map(scopes) };
}

function scopesOf(value: unknown): TransportScopes {
  return new Map(
    Object.entries(fieldsOf(value)).map(([scope, given]) => [scope, requirementsOf(given)]),
  );
}

function requirementsOf(value: unknown): readonly Requirement[] {
  if (!Array.isArray(value)) throw new Error('a list of policy requirements expected');
  if (value.length === 0) {
    throw new Error('List of verification policy requirements must not be empty');
  }
  return value.map(requirementFrom);
}

const KEYS = ['keyPath', 'keyPaths', 'keyData'];

/** Fields in the order of writing. */
const REQUIREMENT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  insecureAcceptAnything: ['type'],
  reject: ['type'],
  signedBy: ['type', 'keyType', ...KEYS, 'signedIdentity'],
  signedBaseLayer: ['type', 'baseLayerIdentity'],
  sigstoreSigned: [
    ...['type', ...KEYS, 'keyDatas', 'fulcio', 'rekorPublicKeyPath', 'rekorPublicKeyPaths'],
    ...['rekorPublicKeyData', 'rekorPublicKeyDatas', 'pki', 'signedIdentity'],
  ],
};

const NESTED_FIELDS: Readonly<Record<string, readonly string[]>> = {
  fulcio: ['caPath', 'caData', 'oidcIssuer', 'subjectEmail'],
  pki: [
    ...['caRootsPath', 'caRootsData', 'caIntermediatesPath', 'caIntermediatesData'],
    ...['subjectEmail', 'subjectHostname'],
  ],
};

const IDENTITY_FIELDS = ['type', 'dockerReference', 'dockerRepository', 'prefix', 'signedPrefix'];
/** The identity of a requirement that names none. */
const DEFAULT_IDENTITY = { type: 'matchRepoDigestOrExact' };

function requirementFrom(value: unknown): Requirement {
  const type = isRecord(value) && typeof value['type'] === 'string' ? value['type'] : '';
  const fields = Object.hasOwn(REQUIREMENT_FIELDS, type) ? REQUIREMENT_FIELDS[type] : undefined;
  if (fields === undefined) throw new Error(`Unknown policy requirement type ${goQuote(type)}`);
  const given = fieldsOf(value, fields);
  const entries = fields.flatMap((field): [string, unknown][] => {
    const found = given[field] ?? (field === 'signedIdentity' ? DEFAULT_IDENTITY : undefined);
    return found === undefined ? [] : [[field, ordered(field, found)]];
  });
  return { ...Object.fromEntries(entries), type };
}

function ordered(field: string, value: unknown): unknown {
  const fields = field.endsWith('Identity') ? IDENTITY_FIELDS : NESTED_FIELDS[field];
  if (fields === undefined) return value;
  const given = fieldsOf(value, fields);
  return Object.fromEntries(
    fields.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
}

/** @param known - absent = any key */
function fieldsOf(value: unknown, known?: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new Error(`JSON object expected, got ${JSON.stringify(value)}`);
  const unknown = known && Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new Error(`Unknown key ${goQuote(unknown)}`);
  return value;
}
