/** TLS security profiles of OpenShift. */

/** As in APIServer and KubeletConfig. */
export interface TlsSecurityProfile {
  /** Old, Intermediate, Modern or Custom; anything else counts as Intermediate. */
  readonly type?: string;
  readonly custom?: {
    /** Names of OpenSSL. */
    readonly ciphers?: readonly string[] | null;
    readonly minTLSVersion?: string;
  } | null;
  readonly [body: string]: unknown;
}

export interface TlsValues {
  readonly minTLSVersion: string;
  /** Names of IANA. */
  readonly cipherSuites: readonly string[];
}

/** OpenSSL's names that are not IANA's. */
const IANA_NAMES: Readonly<Record<string, string>> = {
  'ECDHE-ECDSA-AES128-GCM-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384': 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384': 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305': 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-RSA-CHACHA20-POLY1305': 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-SHA256': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-RSA-AES128-SHA256': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256',
  'ECDHE-ECDSA-AES128-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA',
  'ECDHE-RSA-AES128-SHA': 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA',
  'ECDHE-ECDSA-AES256-SHA': 'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA',
  'ECDHE-RSA-AES256-SHA': 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA',
  'AES128-GCM-SHA256': 'TLS_RSA_WITH_AES_128_GCM_SHA256',
  'AES256-GCM-SHA384': 'TLS_RSA_WITH_AES_256_GCM_SHA384',
  'AES128-SHA256': 'TLS_RSA_WITH_AES_128_CBC_SHA256',
  'AES128-SHA': 'TLS_RSA_WITH_AES_128_CBC_SHA',
  'AES256-SHA': 'TLS_RSA_WITH_AES_256_CBC_SHA',
  'DES-CBC3-SHA': 'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
};

const TLS13 = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
] as const;

const ALL = Object.values(IANA_NAMES);

const INTERMEDIATE: TlsValues = {
  minTLSVersion: 'VersionTLS12',
  cipherSuites: [...TLS13, ...ALL.slice(0, 6)],
};

const PROFILES: ReadonlyMap<string | undefined, TlsValues> = new Map([
  ['Old', { minTLSVersion: 'VersionTLS10', cipherSuites: [...TLS13, ...ALL] }],
  ['Intermediate', INTERMEDIATE],
  ['Modern', { minTLSVersion: 'VersionTLS13', cipherSuites: TLS13 }],
]);

/**
 * The values of a profile. Of a custom one, suites that Go does not know are left out; without a body
 * it is Intermediate, as is no profile.
 *
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), GetSecurityProfileCiphers
 */
export function securityProfileCiphers(profile: TlsSecurityProfile | undefined): TlsValues {
  const custom = profile?.type === 'Custom' ? profile.custom : undefined;
  if (custom === undefined || custom === null) return PROFILES.get(profile?.type) ?? INTERMEDIATE;
  return {
    minTLSVersion: custom.minTLSVersion ?? '',
    cipherSuites: (custom.ciphers ?? []).flatMap(ianaName),
  };
}

function ianaName(cipher: string): readonly string[] {
  if (TLS13.some((suite) => suite === cipher)) return [cipher];
  const name = Object.hasOwn(IANA_NAMES, cipher) ? IANA_NAMES[cipher] : undefined;
  return name === undefined ? [] : [name];
}
