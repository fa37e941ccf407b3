/** A real cluster with Slipway's CRDs and roles, and clients as admin and as the cluster worker. */

import { setTimeout as delay } from 'node:timers/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import type { WatchCache } from '../../../adapters/kube/cache';
import {
  createClusterCaches,
  runCaches,
  whenCachesSynced,
  type ClusterCaches,
} from '../../../adapters/kube/cluster-caches';
import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { Log } from '../../../adapters/kube/transport';
import { clusterOf, type Cluster } from '../../../tools/cluster';
import { repositoryRoot } from '../../../tools/repository-root';
import { emptyCluster } from '../support/empty-cluster';
import { takeControlPlane, type TakenControlPlane } from '../support/taken-control-plane';

export interface KubeFixture {
  readonly cluster: Cluster;
  readonly admin: KubeClient;
  /** With the rights of deploy/rbac/cluster-worker.yaml. */
  readonly worker: KubeClient;
  readonly workerKubeconfig: string;
  readonly log: RecordedLog;
  stop(): Promise<void>;
}

/** Log lines, so that a test can count them. */
export interface RecordedLog extends Log {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: object }[];
}

export function recordedLog(): RecordedLog {
  const lines: RecordedLog['lines'] = [];
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, message, fields });
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The control plane of all files, emptied, with what plays kubelets and Kubernetes' own controllers. */
export async function startKubeFixture(): Promise<KubeFixture> {
  const plane = takeControlPlane();
  await emptyCluster(plane.layout);
  const cluster = await clusterOn(plane);
  try {
    const log = recordedLog();
    const admin = await connectKube({
      kubeconfig: cluster.adminKubeconfig,
      userAgent: 'slipway-tests',
      log,
    });
    await applyFolder(admin, 'deploy/rbac');
    const workerKubeconfig = await cluster.kubeconfigFor({ commonName: 'slipway-cluster-worker' });
    const worker = await connectKube({
      kubeconfig: workerKubeconfig,
      userAgent: 'slipway-tests',
      log,
    });
    return {
      cluster,
      admin,
      worker,
      workerKubeconfig,
      log,
      stop: async () => {
        admin.close();
        worker.close();
        await cluster.stop();
      },
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

const CLIENTS = ['kube-controller-manager', 'kube-scheduler', 'kwok'] as const;

async function clusterOn(plane: TakenControlPlane): Promise<Cluster> {
  const start = async (): Promise<void> => {
    await plane.start('kube-apiserver');
    await Promise.all(CLIENTS.map((name) => plane.start(name)));
  };
  const stop = async (): Promise<void> => {
    await plane.start('kube-apiserver');
    await Promise.all(CLIENTS.map((name) => plane.kill(name)));
  };
  await start();
  return clusterOf(
    plane.layout,
    {
      ...{ start, stop, running: () => [] },
      startOne: plane.start,
      killOne: plane.kill,
      endOne: plane.end,
    },
    stop,
  );
}

async function applyFolder(admin: KubeClient, folder: string): Promise<void> {
  const path = join(repositoryRoot(), folder);
  for (const file of readdirSync(path).sort()) {
    if (!file.endsWith('.yaml') || file === 'kustomization.yaml') continue;
    for (const document of parseAllDocuments(readFileSync(join(path, file), 'utf8'))) {
      await applyManifest(admin, document.toJS() as Manifest);
    }
  }
}

type Manifest = Required<Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>> & {
  readonly [field: string]: unknown;
};

/** Server-side apply, repeated while a kind is not served yet. */
export async function applyManifest(admin: KubeClient, manifest: Manifest): Promise<void> {
  const resource = resourceOf(manifest);
  await eventually(async () => {
    await admin.apply(resource, manifest, { fieldManager: 'slipway-tests' });
  });
}

/** For the kinds of the tests: the plural is the kind in lower case with an s. */
function resourceOf({ apiVersion, kind, metadata }: Manifest): Resource {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  const lower = kind.toLowerCase();
  const plural = lower.endsWith('y') ? `${lower.slice(0, -1)}ies` : `${lower}s`;
  return {
    group: group ?? '',
    version: version ?? '',
    plural,
    kind,
    namespaced: metadata.namespace !== undefined,
  };
}

/** Retries until it does not throw; the test's own timeout ends it. */
export async function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(100);
    }
  }
}

export interface RunningCaches {
  readonly caches: ClusterCaches;
  stop(): Promise<void>;
}

export async function startCaches(client: KubeClient, log: Log): Promise<RunningCaches> {
  const caches = createClusterCaches(log);
  const stopping = new AbortController();
  const running = runCaches(caches, client, stopping.signal);
  await whenCachesSynced(caches);
  return {
    caches,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/** Resolves when the object is in the cache and satisfies the condition. */
export function inCache<T extends KubeObject>(
  cache: WatchCache<T>,
  name: string,
  condition: (object: T) => boolean,
  namespace?: string,
): Promise<T> {
  return new Promise((resolve) => {
    const look = (): boolean => {
      const object = cache.get(name, namespace);
      if (object === undefined || !condition(object)) return false;
      resolve(object);
      return true;
    };
    if (look()) return;
    const unsubscribe = cache.subscribe(() => {
      if (look()) unsubscribe();
    });
  });
}
