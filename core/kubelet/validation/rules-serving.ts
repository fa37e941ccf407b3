/** Where the kubelet listens and connects, and its TLS. */

import { parseGoUrl } from '../../encoding';
import type { FieldProblem } from '../../field-problem';
import { flagAt, listAt, textAt, textsAt } from '../../values-at';
import { type Facts, problemAt, shown } from './problem';
import { isAddress } from './ip-address';

type Config = Facts['config'];

/** Of Go 1.26, the insecure ones and two old names included. */
const CIPHER_SUITES: readonly string[] = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256'].flatMap(withEcdhe),
  ...['AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256', 'RC4_128_SHA'].flatMap(withEcdhe),
  ...['CHACHA20_POLY1305'].flatMap(withEcdhe),
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  ...['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'AES_128_CBC_SHA', 'AES_256_CBC_SHA'].map(rsa),
  ...['AES_128_CBC_SHA256', 'RC4_128_SHA', '3DES_EDE_CBC_SHA'].map(rsa),
];

function withEcdhe(cipher: string): readonly string[] {
  return ['ECDSA', 'RSA'].map((key) => `TLS_ECDHE_${key}_WITH_${cipher}`);
}

function rsa(cipher: string): string {
  return `TLS_RSA_WITH_${cipher}`;
}

/** IDs of Go 1.26's curves, the hybrid ones included. */
const CURVES: readonly number[] = [23, 24, 25, 29, 4587, 4588, 4589];

/**
 * @see k8s.io/component-base cli/flag/ciphersuites_flag.go and curves_flag.go (v0.36.3);
 *   kubernetes cmd/kubelet/app/server.go, InitializeTLS
 */
export function tlsProblems({ config }: Facts): readonly FieldProblem[] {
  const ciphers = textsAt(config, 'tlsCipherSuites').flatMap(([name, i]) => {
    if (CIPHER_SUITES.includes(name)) return [];
    const problem = `is ${shown(name)}, which is no cipher suite of Go`;
    return [
      problemAt(['tlsCipherSuites', i], problem, `use names such as ${CIPHER_SUITES[0] ?? ''}`),
    ];
  });
  const curves = listAt(config, 'tlsCurvePreferences');
  return [...ciphers, ...curves.flatMap((curve, i) => curveProblems(curve, i, curves))];
}

function curveProblems(
  curve: unknown,
  index: number,
  all: readonly unknown[],
): readonly FieldProblem[] {
  const path = ['tlsCurvePreferences', index];
  if (typeof curve !== 'number') return [];
  if (!CURVES.includes(curve)) {
    return [problemAt(path, `is ${curve}, which is no curve of Go`, `use ${CURVES.join(', ')}`)];
  }
  if (all.indexOf(curve) === index) return [];
  return [problemAt(path, `is ${curve} a second time`, 'remove it')];
}

/**
 * @see kubernetes pkg/kubelet/server/server.go (v1.36.3), ListenAndServeKubeletServer;
 *   k8s.io/cri-client pkg/util (v0.36.3), GetAddressAndDialer;
 *   k8s.io/component-base tracing/api/v1/config.go (v0.36.3)
 */
export function addressProblems({ config }: Facts): readonly FieldProblem[] {
  return [
    ...listenProblems(config),
    ...['containerRuntimeEndpoint', 'imageServiceEndpoint'].flatMap((name) =>
      endpointProblems(config, name),
    ),
    ...tracingProblems(config),
  ];
}

function listenProblems(config: Config): readonly FieldProblem[] {
  const address = textAt(config, 'address') ?? '';
  if (address === '' || flagAt(config, 'enableServer') === false || isAddress(address)) return [];
  const problem = `is ${shown(address)}, which is no IP address`;
  return [problemAt(['address'], problem, 'write an address of the machine, such as 0.0.0.0')];
}

function endpointProblems(config: Config, name: string): readonly FieldProblem[] {
  const endpoint = textAt(config, name) ?? '';
  if (endpoint === '') return [];
  // Without a scheme it is the path of a socket.
  const scheme = parseGoUrl(endpoint)?.scheme ?? '';
  const isSocket =
    scheme === '' ? parseGoUrl(`unix://${endpoint}`) !== undefined : scheme === 'unix';
  if (isSocket) return [];
  const problem = `is ${shown(endpoint)}, which is no unix socket`;
  return [problemAt([name], problem, 'write an endpoint such as unix:///run/crio/crio.sock')];
}

const SCHEMES = ['dns', 'unix', 'unix-abstract'];

function tracingProblems(config: Config): readonly FieldProblem[] {
  const path = ['tracing', 'endpoint'];
  const endpoint = textAt(config, ...path);
  if (endpoint === undefined) return [];
  const url = parseGoUrl(endpoint.includes('//') ? endpoint : `dns://${endpoint}`);
  if (url !== undefined && SCHEMES.includes(url.scheme)) return [];
  const problem = `is ${shown(endpoint)}, which is no endpoint of a collector`;
  return [problemAt(path, problem, 'write a host and port such as localhost:4317')];
}
