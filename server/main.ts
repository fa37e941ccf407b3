/** The server process: watches nodes and pools, reads rendered configs, listens. */

import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  connectKube,
  type KubeClient,
  MACHINE_CONFIG_POOLS,
  NODES,
  trimNode,
  WatchCache,
} from '../adapters/kube';
import { MACHINE_CONFIGS } from '../adapters/kube/resources';
import { failureName } from '../core/errors';
import type { MachineConfig } from '../core/machine-config/types';
import { createLogger, type Logger } from '../workers/logging';
import { buildServer } from './app';
import type { ClusterView } from './ports';
import { readServerSettings, type ServerOptions } from './settings';
import { followTls, readTls } from './tls';

/** A server that listens. */
export interface RunningServer {
  /** `https://address:port` of the host endpoint. */
  readonly hostUrl: string;
  /** `http://address:port` of health and metrics. */
  readonly plainUrl: string;
  /** Resolves when the signal has fired and every connection is closed. */
  readonly stopped: Promise<void>;
}

/**
 * Starts the server and resolves when it listens; it answers `/readyz` once it has seen the cluster.
 * An API server that is away is waited for.
 *
 * @throws an Error that lists every wrong setting, or names the file that cannot be used
 */
export async function startServer(
  options: ServerOptions,
  signal: AbortSignal,
): Promise<RunningServer> {
  const settings = readServerSettings(options);
  const logger = createLogger({ process: 'server', level: settings.logLevel });
  const tls = await readTls(settings);
  const client = await connectKube({
    userAgent: 'slipway-server',
    log: logger,
    environment: process.env,
    ...(settings.kubeconfig === undefined ? {} : { kubeconfig: settings.kubeconfig }),
  });
  const { view, run } = watchCluster(client, logger);
  const server = buildServer({
    cluster: view,
    readMachineConfig: (name) => readMachineConfig(client, name),
    logger,
    tls,
    maxConfigBytes: settings.maxConfigBytes,
  });
  const { host, plain } = server;
  await host.listen({ host: settings.address, port: settings.hostPort });
  await plain.listen({ host: settings.plainAddress, port: settings.plainPort });
  followTls(host.server as unknown as HttpsServer, settings, { signal, log: logger });
  const watching = run(signal);
  const stopped = aborted(signal).then(async () => {
    await Promise.all([host.close(), plain.close(), watching]);
    client.close();
    logger.info('stopped');
  });
  const urls = { hostUrl: urlOf('https', host.server), plainUrl: urlOf('http', plain.server) };
  logger.info(urls, 'listening');
  return { ...urls, stopped };
}

/** Runs the server until the signal fires. Throws as `startServer`. */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  await (
    await startServer(options, signal)
  ).stopped;
}

function watchCluster(
  client: KubeClient,
  log: Logger,
): { readonly view: ClusterView; readonly run: (signal: AbortSignal) => Promise<void> } {
  const nodes = new WatchCache({ resource: NODES, log, transform: trimNode });
  const pools = new WatchCache({ resource: MACHINE_CONFIG_POOLS, log });
  return {
    view: {
      node: (name) => nodes.get(name),
      pools: () => pools.list(),
      missing: () => [
        ...(nodes.isSynced ? [] : ['nodes']),
        ...(pools.isSynced ? [] : ['machineconfigpools']),
      ],
    },
    run: async (signal) => {
      await Promise.all([nodes.run(client, signal), pools.run(client, signal)]);
    },
  };
}

async function readMachineConfig(
  client: KubeClient,
  name: string,
): Promise<MachineConfig | undefined> {
  try {
    return await client.get(MACHINE_CONFIGS, { name });
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return undefined;
    throw error;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function urlOf(scheme: string, server: { address(): AddressInfo | string | null }): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}`;
}
