/**
 * Where the API server is and how to prove who we are: from a kubeconfig file, or from the service
 * account of a pod.
 *
 * Client certificates and tokens are read here. Everything else (exec plugins, OIDC, proxies) is
 * left to `@kubernetes/client-node`, which is loaded only then: it costs 80 MB and over a second.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { Agent, RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { messageOf } from '../../core/errors';
import { isRecord } from './api-errors';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How to reach one API server. */
export interface KubeEndpoint {
  /** `https://host:port`, perhaps with a path. */
  readonly server: string;
  /** Read again now and then, because tokens and certificates are rotated on disk. */
  read(): Promise<Credentials>;
}

export interface Credentials {
  readonly tls: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly servername?: string;
    readonly rejectUnauthorized?: boolean;
  };
  readonly headers: Readonly<Record<string, string>>;
  /** Set when the kubeconfig asks for a proxy. */
  readonly agent?: Agent;
}

export interface EndpointSettings {
  /** Path of a kubeconfig; absent = the pod's service account, then `~/.kube/config`. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The process environment, which says whether this is a pod. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Finds the API server. A file named on purpose wins over a pod's service account.
 *
 * @throws an `Error` that names the file and the missing field
 */
export async function findEndpoint(settings: EndpointSettings): Promise<KubeEndpoint> {
  if (settings.kubeconfig !== undefined) return fromFile(settings.kubeconfig, settings.context);
  const inCluster = fromServiceAccount(settings.environment ?? {});
  if (inCluster !== undefined) return inCluster;
  return fromFile(join(homedir(), '.kube', 'config'), settings.context);
}

function fromServiceAccount(
  environment: NonNullable<EndpointSettings['environment']>,
): KubeEndpoint | undefined {
  const host = environment['KUBERNETES_SERVICE_HOST'];
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  const token = join(SERVICE_ACCOUNT, 'token');
  if (host === undefined || host === '' || !existsSync(token)) return undefined;
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    read: () =>
      Promise.resolve({
        tls: { ca: readFileSync(join(SERVICE_ACCOUNT, 'ca.crt'), 'utf8') },
        headers: { authorization: `Bearer ${readFileSync(token, 'utf8').trim()}` },
      }),
  };
}

async function fromFile(file: string, context: string | undefined): Promise<KubeEndpoint> {
  const { cluster, user } = readKubeconfig(file, context);
  const server = text(cluster, 'server');
  if (server === undefined) throw new Error(`kubeconfig ${file}: the cluster has no server`);
  if (needsFullClient(cluster, user)) return fromFullClient(file, context, server);
  const base = dirname(file);
  return { server, read: () => Promise.resolve(readCredentials(base, cluster, user)) };
}

type Section = Readonly<Record<string, unknown>>;

function readKubeconfig(
  file: string,
  wanted: string | undefined,
): { readonly cluster: Section; readonly user: Section } {
  let document: unknown;
  try {
    document = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`kubeconfig ${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  if (!isRecord(document)) throw new Error(`kubeconfig ${file} is not a kubeconfig`);
  const name = wanted ?? text(document, 'current-context');
  if (name === undefined) throw new Error(`kubeconfig ${file} has no current-context`);
  const context = named(document['contexts'], name, 'context');
  if (context === undefined) throw new Error(`kubeconfig ${file} has no context ${name}`);
  const cluster = named(document['clusters'], text(context, 'cluster'), 'cluster');
  if (cluster === undefined) throw new Error(`kubeconfig ${file}: no cluster for context ${name}`);
  return { cluster, user: named(document['users'], text(context, 'user'), 'user') ?? {} };
}

function needsFullClient(cluster: Section, user: Section): boolean {
  const others = ['exec', 'auth-provider', 'username', 'as', 'as-groups'];
  return cluster['proxy-url'] !== undefined || others.some((key) => user[key] !== undefined);
}

function readCredentials(base: string, cluster: Section, user: Section): Credentials {
  const ca = material(base, cluster, 'certificate-authority');
  const cert = material(base, user, 'client-certificate');
  const key = material(base, user, 'client-key');
  const servername = text(cluster, 'tls-server-name');
  const tokenFile = text(user, 'tokenFile');
  const token =
    tokenFile === undefined ? text(user, 'token') : readFileSync(absolute(base, tokenFile), 'utf8');
  return {
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(cluster['insecure-skip-tls-verify'] === true ? { rejectUnauthorized: false } : {}),
    },
    headers: token === undefined ? {} : { authorization: `Bearer ${token.trim()}` },
  };
}

/** `NAME-data` in base64, or the file that `NAME` points to. */
function material(base: string, section: Section, name: string): string | undefined {
  const data = text(section, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = text(section, name);
  return file === undefined ? undefined : readFileSync(absolute(base, file), 'utf8');
}

async function fromFullClient(
  file: string,
  context: string | undefined,
  server: string,
): Promise<KubeEndpoint> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromFile(file);
  if (context !== undefined) config.setCurrentContext(context);
  const proxied = config.getCurrentCluster()?.proxyUrl !== undefined;
  return {
    server,
    read: async () => {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      const basic =
        typeof options.auth === 'string'
          ? { authorization: `Basic ${Buffer.from(options.auth).toString('base64')}` }
          : {};
      return {
        tls: tlsOf(options),
        headers: { ...headersOf(options), ...basic },
        ...(proxied ? { agent: options.agent as Agent } : {}),
      };
    },
  };
}

function tlsOf(options: RequestOptions): Credentials['tls'] {
  const pem = (value: unknown): string | undefined =>
    typeof value === 'string' ? value : Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
  const [ca, cert, key] = [pem(options.ca), pem(options.cert), pem(options.key)];
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(options.servername === undefined ? {} : { servername: options.servername }),
    ...(options.rejectUnauthorized === false ? { rejectUnauthorized: false } : {}),
  };
}

function headersOf(options: RequestOptions): Record<string, string> {
  const entries = isRecord(options.headers) ? Object.entries(options.headers) : [];
  return Object.fromEntries(entries.map(([key, value]) => [key.toLowerCase(), String(value)]));
}

function named(list: unknown, name: string | undefined, key: string): Section | undefined {
  if (!Array.isArray(list)) return undefined;
  const entry = list.find((item) => isRecord(item) && item['name'] === name) as Section | undefined;
  const section = entry?.[key];
  return isRecord(section) ? section : undefined;
}

function text(section: Section, key: string): string | undefined {
  const value = section[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function absolute(base: string, file: string): string {
  return isAbsolute(file) ? file : join(base, file);
}
