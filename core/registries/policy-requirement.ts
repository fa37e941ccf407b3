/** What an image policy demands of an image: one requirement of `policy.json`. */

import { goQuote } from '../encoding/go-quote';
import { fail } from '../errors';
import { HOST_PATTERN, LONGEST_NAME, parseReference, PATH_PATTERN, splitHost } from './reference';
import type { Policy } from './types';

/** JSON, fields in the order of writing; those that are undefined are left out. */
export interface Requirement {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const ACCEPT: Requirement = { type: 'insecureAcceptAnything' };
export const REJECT: Requirement = { type: 'reject' };

/**
 * The requirement of a policy.
 *
 * @throws `InvalidMachineConfig` in the words of MCO and containers/image when a part is missing or
 * wrong; Slipway's words where MCO crashes
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4), policyItemFromSpec
 * @see containers/image signature/policy_config_sigstore.go
 */
export function requirementOf({ rootOfTrust, signedIdentity }: Policy): Requirement {
  const trust = trustOf(rootOfTrust);
  const identity = identityOf(signedIdentity);
  refuseTrust(trust);
  return {
    type: 'sigstoreSigned',
    keyData: filled(trust.keyData),
    fulcio: trust.fulcio,
    rekorPublicKeyData: filled(trust.rekorPublicKeyData),
    pki: trust.pki,
    signedIdentity: identity,
  };
}

interface Trust {
  readonly keyData?: string | undefined;
  readonly fulcio?: object;
  readonly rekorPublicKeyData?: string | undefined;
  readonly pki?: object;
}

function trustOf(root: Policy['rootOfTrust']): Trust {
  switch (root.policyType) {
    case 'PublicKey': {
      const { keyData, rekorKeyData } = given(root.publicKey, 'publicKey');
      return { keyData, rekorPublicKeyData: filled(rekorKeyData) };
    }
    case 'FulcioCAWithRekor': {
      const fulcio = given(root.fulcioCAWithRekor, 'fulcioCAWithRekor');
      return { fulcio: fulcioOf(fulcio), rekorPublicKeyData: fulcio.rekorKeyData };
    }
    case 'PKI':
      return { pki: pkiOf(given(root.pki, 'pki')) };
    default:
      return {};
  }
}

function fulcioOf(fulcio: NonNullable<Policy['rootOfTrust']['fulcioCAWithRekor']>): object {
  const { fulcioCAData, fulcioSubject = {} } = fulcio;
  const { oidcIssuer = '', signedEmail = '' } = fulcioSubject;
  if (fulcioCAData === undefined) {
    throw refused('At least one of caPath and caData must be specified');
  }
  if (oidcIssuer === '') throw refused('oidcIssuer not specified');
  if (signedEmail === '') throw refused('subjectEmail not specified');
  return { caData: filled(fulcioCAData), oidcIssuer, subjectEmail: signedEmail };
}

function pkiOf(pki: NonNullable<Policy['rootOfTrust']['pki']>): object {
  const { caRootsData, caIntermediatesData, pkiCertificateSubject = {} } = pki;
  const { email, hostname } = pkiCertificateSubject;
  if (caRootsData === undefined) {
    throw refused('At least one of caRootsPath and caRootsData must be specified');
  }
  if (filled(email) === undefined && filled(hostname) === undefined) {
    throw refused('At least one of subjectEmail, subjectHostname must be specified');
  }
  return {
    caRootsData: filled(caRootsData),
    caIntermediatesData: filled(caIntermediatesData),
    subjectEmail: filled(email),
    subjectHostname: filled(hostname),
  };
}

function refuseTrust({ keyData, fulcio, rekorPublicKeyData, pki }: Trust): void {
  if (keyData === undefined && fulcio === undefined && pki === undefined) {
    throw refused(
      'exactly one of keyPath, keyPaths, keyData, keyDatas, fulcio, and pki must be specified',
    );
  }
  if (fulcio !== undefined && rekorPublicKeyData === undefined) {
    throw refused(
      'At least one of rekorPublickeyPath, rekorPublicKeyPaths, rekorPublickeyData and rekorPublicKeyDatas must be specified if fulcio is used',
    );
  }
}

function identityOf(identity: Policy['signedIdentity'] = {}): object {
  const { matchPolicy = '' } = identity;
  switch (matchPolicy) {
    case 'RemapIdentity': {
      const { prefix = '', signedPrefix = '' } = given(identity.remapIdentity, 'remapIdentity');
      const wrong = [prefix, signedPrefix].find((one) => !isPrefix(one));
      if (wrong !== undefined) {
        throw refusedIdentity(matchPolicy, `prefix ${goQuote(wrong)} is not valid`);
      }
      return { type: 'remapIdentity', prefix, signedPrefix };
    }
    case 'ExactRepository': {
      const { repository = '' } = given(identity.exactRepository, 'exactRepository');
      const wrong = repositoryFault(repository);
      if (wrong !== undefined) {
        const text = `Invalid format of dockerRepository ${goQuote(repository)}: ${wrong}`;
        throw refusedIdentity(matchPolicy, text);
      }
      return { type: 'exactRepository', dockerRepository: repository };
    }
    case 'MatchRepository':
      return { type: 'matchRepository' };
    case 'MatchRepoDigestOrExact':
    case '':
      return { type: 'matchRepoDigestOrExact' };
    default:
      throw refused(`unknown signedIdentity match policy: ${matchPolicy}`);
  }
}

const HOST = new RegExp(`^${HOST_PATTERN}$`);
const NAME_WITH_HOST = new RegExp(`^${HOST_PATTERN}/${PATH_PATTERN}$`);

/** A host, or a name that begins with one. */
function isPrefix(text: string): boolean {
  return HOST.test(text) || NAME_WITH_HOST.test(text);
}

const IDENTIFIER = /^[a-f0-9]{64}$/;

/** The words of containers/image for a text that is no reference, perhaps a short one. */
function repositoryFault(text: string): string | undefined {
  if (IDENTIFIER.test(text)) {
    return `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`;
  }
  const path = splitHost(text).path.split(':', 1)[0] ?? '';
  if (path !== path.toLowerCase()) {
    return 'invalid reference format: repository name must be lowercase';
  }
  if (parseReference(text) !== undefined) return undefined;
  return text.length > LONGEST_NAME && isPrefix(text)
    ? `repository name must not be more than ${LONGEST_NAME} characters`
    : 'invalid reference format';
}

/** An empty text is left out of the JSON. */
function filled(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function given<T>(part: T | undefined, field: string): T {
  if (part !== undefined) return part;
  throw refused(`${field} is missing, although the type of the policy needs it; add it`);
}

function refusedIdentity(policy: string, reason: string): Error {
  return refused(`error getting signedIdentity for ${policy}: ${reason}`);
}

function refused(message: string): Error {
  return fail('InvalidMachineConfig', message);
}
