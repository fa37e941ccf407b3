/**
 * What it costs that every host waits for certificates and secrets: the server at rest, and when
 * they change for all hosts at once. Real API server, real server, real mutual TLS.
 */

import type { ChildProcess } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '@kubernetes/client-node';
import { WatchCache } from '../adapters/kube/cache';
import { connectKube, type KubeClient } from '../adapters/kube/client';
import { CONTROLLER_CONFIGS, MACHINE_CONFIG_NODES } from '../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../core/controller-config';
import { inParallel } from '../core/concurrency-limit';
import { bundleShown } from '../core/host-bundle';
import type { MachineConfigNode } from '../core/node/types';
import { createLogger } from '../process/logging';
import { trimMachineConfigNode } from '../server/cluster-watch';
import type { ServerOptions } from '../server/settings';
import { Signer, startCluster, type Cluster } from '../tools/cluster';
import { newAuthority } from '../tools/cluster/certificates';
import { postNodes } from '../tools/cluster/nodes';
import { percentile } from '../tools/measure/percentile';
import { manifestsWith } from '../tools/stack/manifests';
import type { HostsAnswer, HostsQuestion } from './bundle-hosts';
import { answerTo, startChild } from './child';
import type { ServerAnswer, ServerFigures, ServerQuestion } from './server-process';

const MCO = 'machineconfiguration.openshift.io/v1';
const MIB = 1024 * 1024;
const REST_MS = 30_000;
/** The hosts begin at this rate per second. */
const BEGIN = 150;
const PATIENCE_MS = 300_000;

interface HostBundleResult {
  readonly name: 'host-bundle';
  readonly hosts: number;
  readonly cores: number;
  readonly maxConnections: number;
  /** Of the server, before a host has asked. */
  readonly emptyRssMiB: number;
  readonly rest: {
    readonly rssMiB: number;
    readonly kibPerHost: number;
    readonly processorPercent: number;
    readonly failures: number;
  };
  readonly change: {
    readonly p50Ms: number;
    readonly p99Ms: number;
    /** Until the last MachineConfigNode shows it. */
    readonly shownSeconds: number;
    readonly processorSeconds: number;
    readonly longestBlockProcessorMs: number;
    readonly peakRssMiB: number;
    readonly failures: number;
  };
}

export async function runHostBundleBench(options: {
  readonly hosts: number;
  readonly maxConnections: number;
  readonly onStep: (text: string) => void;
}): Promise<HostBundleResult> {
  const { hosts, maxConnections, onStep } = options;
  onStep('starting the control plane');
  const cluster = await startCluster({ kwok: false });
  const stop = new AbortController();
  const children: ChildProcess[] = [];
  const child = (file: string): ChildProcess => {
    const started = startChild(file);
    children.push(started);
    return started;
  };
  try {
    onStep(`creating ${hosts} nodes`);
    const names = Array.from({ length: hosts }, (_, index) => `node-${index}`);
    await createObjects(cluster, names);
    const credentials = await cluster.nodeCredentialsBulk(names, { signer: Signer.AUTHORITY });
    const log = createLogger({ process: 'bench', level: 'error' });
    const { adminKubeconfig: kubeconfig } = cluster;
    const environment = process.env;
    const kube = await connectKube({ kubeconfig, environment, userAgent: 'slipway-bench', log });
    const shown = watchShown(kube, stop.signal);
    await configure(kube, (await newAuthority('first')).certificate);
    const server = await startServer(child('server-process.js'), cluster, {
      maxConnections,
      // Here they share one.
      maxConnectionsPerAddress: hosts + 1_000,
    });
    const load = child('bundle-hosts.js');
    const ask = (question: HostsQuestion) => answerTo<HostsAnswer>(load, question);
    await delay(1_000);
    const empty = await server.figures();
    onStep('the hosts begin');
    const withinMs = (hosts / BEGIN) * 1_000;
    await ask({ start: { url: server.hostUrl, hosts: credentials, withinMs } });
    const first = await shown.byAll(hosts, undefined);

    onStep('at rest');
    const before = sumOf((await ask('received')).failures);
    await server.reset();
    await delay(REST_MS);
    const rest = await server.figures();
    const atRest = sumOf((await ask('received')).failures);

    onStep('another authority');
    await server.reset();
    const changedAt = Date.now();
    await configure(kube, (await newAuthority('second')).certificate);
    const second = await shown.byAll(hosts, first);
    const shownSeconds = (Date.now() - changedAt) / 1000;
    const change = await server.figures();
    const { received, failures } = await ask('received');
    kube.close();
    const took = Object.entries(received).flatMap(([digest, times]) =>
      digest.startsWith(second) ? times.map((at) => at - changedAt) : [],
    );
    return {
      ...{ name: 'host-bundle', hosts, cores: cpus().length, maxConnections },
      emptyRssMiB: Math.round(empty.rssBytes / MIB),
      rest: {
        rssMiB: Math.round(rest.rssBytes / MIB),
        kibPerHost: Math.round((rest.rssBytes - empty.rssBytes) / 1024 / hosts),
        processorPercent: (rest.processorMs / REST_MS) * 100,
        failures: atRest - before,
      },
      change: {
        p50Ms: percentile(took, 0.5),
        p99Ms: percentile(took, 0.99),
        shownSeconds,
        processorSeconds: change.processorMs / 1000,
        longestBlockProcessorMs: change.longestBlockProcessorMs,
        peakRssMiB: Math.round(change.peakRssBytes / MIB),
        failures: sumOf(failures) - atRest,
      },
    };
  } finally {
    stop.abort();
    for (const one of children) one.kill('SIGKILL');
    await cluster.stop();
  }
}

async function createObjects(cluster: Cluster, names: readonly string[]): Promise<void> {
  const manifests = manifestsWith(cluster.adminKubeconfig);
  for (const folder of ['deploy/crds', 'deploy/rbac']) await manifests.applyFiles(folder);
  await manifests.applyObject({
    ...{ apiVersion: MCO, kind: 'MachineConfigPool', metadata: { name: 'worker' } },
    spec: { nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } } },
  } as KubernetesObject);
  const labels = { 'node-role.kubernetes.io/worker': '' };
  await postNodes(
    cluster.admin,
    names.map((name) => ({ name, labels })),
  );
  await inParallel(names, 16, (name) =>
    cluster.admin.call('POST', `/apis/${MCO}/machineconfignodes`, {
      ...{ apiVersion: MCO, kind: 'MachineConfigNode', metadata: { name } },
      spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: 'rendered-1' } },
    }),
  );
}

async function configure(kube: KubeClient, authority: string): Promise<void> {
  const data = Buffer.from(authority).toString('base64');
  await kube.apply(
    CONTROLLER_CONFIGS,
    { metadata: { name: CONTROLLER_CONFIG }, spec: { kubeAPIServerServingCAData: data } },
    { fieldManager: 'bench' },
  );
}

async function startServer(
  process: ChildProcess,
  cluster: Cluster,
  limits: Pick<ServerOptions, 'maxConnections' | 'maxConnectionsPerAddress'>,
) {
  const ask = (question: ServerQuestion) => answerTo<ServerAnswer>(process, question);
  const tls = await cluster.serverCertificate('host-endpoint', ['127.0.0.1']);
  const started = await ask({
    start: {
      kubeconfig: await cluster.kubeconfigFor({ commonName: 'slipway-server' }),
      ...{ address: '127.0.0.1', hostPort: 0, ignitionPort: 0 },
      ...{ plainAddress: '127.0.0.1', plainPort: 0 },
      ...{ certificateFile: tls.certFile, keyFile: tls.keyFile },
      clientAuthorityFile: cluster.caFile,
      ...limits,
    },
  });
  if (!('port' in started) || started.hostUrl === undefined) {
    throw new Error(`the server did not start: ${JSON.stringify(started)}`);
  }
  return {
    hostUrl: started.hostUrl,
    reset: () => ask('reset'),
    figures: async (): Promise<ServerFigures> => {
      const answer = await ask('figures');
      if (!('figures' in answer)) throw new Error('the server gave no figures');
      return answer.figures;
    },
  };
}

/** The beginnings of the digests that MachineConfigNodes show. */
function watchShown(kube: KubeClient, signal: AbortSignal) {
  const cache = new WatchCache<MachineConfigNode>({
    resource: MACHINE_CONFIG_NODES,
    log: createLogger({ process: 'bench', level: 'error' }),
    transform: trimMachineConfigNode,
  });
  void cache.run(kube, signal);
  const digestOf = (node: MachineConfigNode): string | undefined => {
    const { reason, message = '' } = bundleShown(node) ?? {};
    return reason === 'Written' ? /bundle ([0-9a-f]+)/.exec(message)?.[1] : undefined;
  };
  return {
    /** Returns the digest that all show, which is another than the given one. */
    async byAll(hosts: number, than: string | undefined): Promise<string> {
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const shown = cache.list().map(digestOf);
        const [digest] = shown;
        const isSame = shown.every((one) => one === digest);
        if (digest !== undefined && digest !== than && isSame && shown.length === hosts) {
          return digest;
        }
        if (performance.now() > deadline) {
          const count = shown.filter((one) => one !== undefined && one !== than).length;
          throw new Error(`only ${count} of ${hosts} hosts show their bundle`);
        }
        await delay(50);
      }
    },
  };
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
