/** A kube-apiserver with Slipway's CRDs and nobody else: what the tests of API objects and controllers need. */

import { readdirSync, readFileSync } from 'node:fs';
import { get, request } from 'node:https';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { parseAllDocuments } from 'yaml';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { Log } from '../../../adapters/kube/transport';
import { CertificateUse, issueCertificate } from '../../../tools/cluster/certificates';
import { writeKubeconfig } from '../../../tools/cluster/kubeconfig';
import { EXAMPLES, filledExample, SAMPLES } from '../../unit/deploy/filled-examples';
import { emptyCluster } from '../support/empty-cluster';
import { takeControlPlane } from '../support/taken-control-plane';

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

/** The API server of all files, emptied. */
export async function takeApiServer(): Promise<TestApiServer> {
  const { layout, start, kill } = takeControlPlane();
  const client = await connectKube({
    kubeconfig: layout.adminKubeconfig,
    userAgent: 'slipway-tests',
    log: QUIET,
  });
  await emptyCluster(layout);
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
      const path = join(layout.directory, `${user}.kubeconfig`);
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
    kill: () => kill('kube-apiserver'),
    start: () => start('kube-apiserver'),
    stop: async () => {
      client.close();
      await start('kube-apiserver');
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

/** The documents of `deploy/samples` and of `deploy/examples`, filled in, by file name. */
export function filledManifests<T extends KubeObject>(): readonly T[] {
  const texts = [...readdirSync(SAMPLES).map(sample), ...readdirSync(EXAMPLES).map(filledExample)];
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as T));
}

function sample(name: string): string {
  return readFileSync(join(SAMPLES, name), 'utf8');
}
