/**
 * Address and credentials of the API server, from a kubeconfig file or a pod's service account.
 *
 * Other methods than certificates and tokens (exec plugins, OIDC, proxies) load
 * `@kubernetes/client-node`, which costs 80 MB and over a second.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { Agent, RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { parse } from 'yaml';
import { messageOf } from '../../core/errors';
import { isRecord } from './api-errors';

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface KubeEndpoint {
  /** `https://host:port`, perhaps with a path. */
  readonly server: string;
  /** Call again now and then: tokens and certificates are rotated on disk. */
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
  readonly agent?: Agent;
}

export interface EndpointSettings {
  /**
   * Or several, separated as in PATH and merged as kubectl does; absent: the pod's service account,
   * then `~/.kube/config`.
   */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** It shows whether this is a pod. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * A named file precedes a pod's service account.
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

async function fromFile(setting: string, context: string | undefined): Promise<KubeEndpoint> {
  const found = readKubeconfig(setting, context);
  const { cluster, user } = found;
  const server = text(cluster.section, 'server');
  if (server === undefined) throw new Error(`kubeconfig ${setting}: the cluster has no server`);
  if (!URL.canParse(server)) {
    throw new Error(`kubeconfig ${setting}: the server ${server} is not a URL like https://k:6443`);
  }
  if (needsFullClient(cluster.section, user.section)) return fromFullClient(found, server);
  return { server, read: () => Promise.resolve(readCredentials(cluster, user)) };
}

type Section = Readonly<Record<string, unknown>>;

/** File names are relative to the directory of the kubeconfig. */
interface Located {
  readonly section: Section;
  readonly base: string;
}

interface Chosen {
  readonly cluster: Located;
  readonly user: Located;
}

/** The first file with an entry counts. */
function readKubeconfig(setting: string, wanted: string | undefined): Chosen {
  const files = kubeconfigFiles(setting);
  const documents = files.map((file) => ({ section: readDocument(file), base: dirname(file) }));
  const current = documents.map(({ section }) => text(section, 'current-context'));
  const name = wanted ?? current.find((value) => value !== undefined);
  if (name === undefined) throw new Error(`kubeconfig ${setting} has no current-context`);
  const context = named(documents, 'context', name)?.section;
  if (context === undefined) throw new Error(`kubeconfig ${setting} has no context ${name}`);
  const cluster = named(documents, 'cluster', text(context, 'cluster'));
  if (cluster === undefined) {
    throw new Error(`kubeconfig ${setting}: no cluster for context ${name}`);
  }
  const user = named(documents, 'user', text(context, 'user'));
  return { cluster, user: user ?? { section: {}, base: cluster.base } };
}

/** A single file must exist; of a list, the existing files count. */
function kubeconfigFiles(setting: string): readonly string[] {
  if (existsSync(setting)) return [setting];
  const files = setting.split(delimiter).filter((file) => file !== '');
  if (files.length < 2) return files.length === 0 ? [setting] : files;
  const present = files.filter((file) => existsSync(file));
  if (present.length > 0) return present;
  throw new Error(`kubeconfig ${setting} cannot be read: none of these files exists`);
}

function readDocument(file: string): Section {
  let document: unknown;
  try {
    document = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new Error(`kubeconfig ${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  // For kubectl, an empty file is a kubeconfig without entries.
  if (document === null) return {};
  if (!isRecord(document)) throw new Error(`kubeconfig ${file} is not a kubeconfig`);
  return document;
}

function needsFullClient(cluster: Section, user: Section): boolean {
  const others = ['exec', 'auth-provider', 'username', 'as', 'as-groups'];
  return cluster['proxy-url'] !== undefined || others.some((key) => user[key] !== undefined);
}

function readCredentials(cluster: Located, user: Located): Credentials {
  const ca = material(cluster, 'certificate-authority');
  const cert = material(user, 'client-certificate');
  const key = material(user, 'client-key');
  const servername = text(cluster.section, 'tls-server-name');
  const tokenFile = text(user.section, 'tokenFile');
  const token =
    tokenFile === undefined
      ? text(user.section, 'token')
      : readFileSync(absolute(user.base, tokenFile), 'utf8');
  return {
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
      ...(cluster.section['insecure-skip-tls-verify'] === true
        ? { rejectUnauthorized: false }
        : {}),
    },
    headers: token === undefined ? {} : { authorization: `Bearer ${token.trim()}` },
  };
}

/** `NAME-data` in base64, or the file `NAME`. */
function material({ section, base }: Located, name: string): string | undefined {
  const data = text(section, `${name}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8');
  const file = text(section, name);
  return file === undefined ? undefined : readFileSync(absolute(base, file), 'utf8');
}

/** Only the chosen sections: the client's own merge refuses a name that is in two files. */
async function fromFullClient({ cluster, user }: Chosen, server: string): Promise<KubeEndpoint> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  config.loadFromString(
    JSON.stringify({
      clusters: [{ name: 'chosen', cluster: withAbsolutePaths(cluster) }],
      users: [{ name: 'chosen', user: withAbsolutePaths(user) }],
      contexts: [{ name: 'chosen', context: { cluster: 'chosen', user: 'chosen' } }],
      'current-context': 'chosen',
    }),
  );
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

function withAbsolutePaths({ section, base }: Located): Section {
  const fields = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];
  const files = fields.flatMap((field) => {
    const file = text(section, field);
    return file === undefined ? [] : [[field, absolute(base, file)] as const];
  });
  return { ...section, ...Object.fromEntries(files) };
}

/** From the first document with this name. */
function named(
  documents: readonly Located[],
  kind: string,
  name: string | undefined,
): Located | undefined {
  for (const { section: document, base } of documents) {
    const list = document[`${kind}s`];
    if (!Array.isArray(list)) continue;
    const entry: unknown = list.find((item) => isRecord(item) && item['name'] === name);
    const section = isRecord(entry) ? entry[kind] : undefined;
    if (isRecord(section)) return { section, base };
  }
  return undefined;
}

function text(section: Section, key: string): string | undefined {
  const value = section[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function absolute(base: string, file: string): string {
  return isAbsolute(file) ? file : join(base, file);
}
