/** etcd and a kube-apiserver with Slipway's CRDs, for tests of API objects and controllers. */

import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { get, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { Log } from '../../../adapters/kube/transport';
import { CertificateUse, issueCertificate } from '../../../tools/cluster/certificates';
import { writeKubeconfig } from '../../../tools/cluster/kubeconfig';
import { startClusterProcess } from '../../../tools/cluster/control-plane';
import { prepareLayout } from '../../../tools/cluster/layout';
import { EXAMPLES, filledExample, SAMPLES } from '../../unit/deploy/filled-examples';

export const DEPLOY = join(__dirname, '..', '..', '..', 'deploy');

export const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

export interface TestApiServer {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** A kubeconfig for a user of this name, with the rights that RBAC gives. */
  kubeconfigFor(user: string): Promise<string>;
  /**
   * Creates an object from YAML as written: the API server parses it.
   *
   * @throws Error with the answer of the API server when it refuses
   */
  createWritten(resource: Resource, yaml: string): Promise<void>;
  /** The columns of `kubectl get -o wide` for one object, filled in by the API server. */
  printed(resource: Resource, name: string): Promise<Readonly<Record<string, unknown>>>;
  /** Kills the API server as a crash does; etcd stays. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface Crd extends KubeObject {
  readonly spec: {
    readonly versions: readonly {
      readonly additionalPrinterColumns?: readonly {
        readonly name: string;
        readonly priority?: number;
      }[];
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export const CRDS: Resource<Crd> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Starts the two servers in their own directory and installs `deploy/crds`. */
export async function startApiServer(): Promise<TestApiServer> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-api-'));
  const layout = await prepareLayout(directory);
  const etcd = await startClusterProcess('etcd', layout);
  let server = await startClusterProcess('kube-apiserver', layout);
  const client = await connectKube({
    kubeconfig: layout.adminKubeconfig,
    userAgent: 'slipway-tests',
    log: QUIET,
  });
  await installCrds(client);
  const urlOf = ({ group, version, plural }: Resource, name = ''): URL =>
    new URL(`/apis/${group}/${version}/${plural}/${name}`.replace(/\/$/, ''), layout.server);
  const administrator = async (): Promise<TlsCredentials> => {
    const { certificate: cert, key } = await issueCertificate(layout.authority, {
      subject: { commonName: 'administrator', organizations: ['system:masters'] },
      use: CertificateUse.CLIENT,
    });
    return { ca: layout.authority.certificate, cert, key };
  };
  return {
    client,
    kubeconfig: layout.adminKubeconfig,
    kubeconfigFor: async (user) => {
      const path = join(directory, `${user}.kubeconfig`);
      await writeKubeconfig(path, {
        server: layout.server,
        authority: layout.authority.certificate,
        user,
        credentials: await issueCertificate(layout.authority, {
          subject: { commonName: user },
          use: CertificateUse.CLIENT,
        }),
      });
      return path;
    },
    createWritten: async (resource, yaml) => post(urlOf(resource), yaml, await administrator()),
    printed: async (resource, name) =>
      cellsOf(await readAsTable(urlOf(resource, name), await administrator())),
    kill: () => server.kill(),
    start: async () => {
      server = await startClusterProcess('kube-apiserver', layout);
    },
    stop: async () => {
      client.close();
      await server.kill();
      await etcd.kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface TlsCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

async function post(url: URL, yaml: string, credentials: TlsCredentials): Promise<void> {
  const headers = { 'content-type': 'application/yaml' };
  const [status, said] = await new Promise<[number | undefined, string]>((resolve, reject) => {
    const sent = request(url, { ...credentials, agent: false, method: 'POST', headers });
    sent.once('error', reject);
    sent.once('response', (reply) => {
      text(reply).then((body) => resolve([reply.statusCode, body]), reject);
    });
    sent.end(yaml);
  });
  if (status !== 201) throw new Error(`POST ${url.pathname}: ${status} ${said}`);
}

interface Table {
  readonly columnDefinitions: readonly { readonly name: string }[];
  readonly rows: readonly [{ readonly cells: readonly unknown[] }];
}

async function readAsTable(url: URL, credentials: TlsCredentials): Promise<Table> {
  const headers = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
  return new Promise((resolve, reject) => {
    get(url, { ...credentials, agent: false, headers }, (reply) => {
      json(reply).then((table) => resolve(table as Table), reject);
    }).once('error', reject);
  });
}

function cellsOf({
  columnDefinitions,
  rows: [{ cells }],
}: Table): Readonly<Record<string, unknown>> {
  return Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, cells[index]]));
}

async function installCrds(client: KubeClient): Promise<void> {
  const crds = await manifests<Crd>('crds');
  for (const crd of crds) await client.create(CRDS, crd);
  const waiting = new Set(crds.map((crd) => crd.metadata.name));
  const list = await client.list(CRDS);
  list.items.filter(isEstablished).forEach((crd) => waiting.delete(crd.metadata.name));
  if (waiting.size === 0) return;
  const signal = AbortSignal.timeout(60_000);
  for await (const { object } of client.watch(CRDS, {
    resourceVersion: list.resourceVersion,
    signal,
  })) {
    if (isEstablished(object)) waiting.delete(object.metadata.name);
    if (waiting.size === 0) return;
  }
  throw new Error(`never established: ${[...waiting].join(', ')}`);
}

function isEstablished(crd: Crd): boolean {
  return (
    crd.status?.conditions?.some(
      ({ type, status }) => type === 'Established' && status === 'True',
    ) ?? false
  );
}

/** The documents of `deploy/samples` and `deploy/examples`, filled in, by file name. */
export function filledManifests<T extends KubeObject>(): readonly T[] {
  const texts = [...readdirSync(SAMPLES).map(sample), ...readdirSync(EXAMPLES).map(filledExample)];
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as T));
}

function sample(name: string): string {
  return readFileSync(join(SAMPLES, name), 'utf8');
}

/** The documents of every file in a folder below `deploy`, by file name. */
export async function manifests<T extends KubeObject>(folder: string): Promise<readonly T[]> {
  const files = (await readdir(join(DEPLOY, folder)))
    .filter((file) => file.endsWith('.yaml'))
    .sort();
  const texts = await Promise.all(
    files.map((file) => readFile(join(DEPLOY, folder, file), 'utf8')),
  );
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as T));
}
