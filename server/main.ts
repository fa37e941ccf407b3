/**
 * The server process. In a cluster: first configs, rendered configs for hosts, and their reports.
 * On the machine that installs a cluster: first configs from files.
 */

import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { connectKube, type KubeClient } from '../adapters/kube';
import { readJoinTokens, watchJoinTokens, writeJoinTokenUse } from '../adapters/kube/join-tokens';
import { FIELD_MANAGER } from '../core/names';
import { createLogger, type Logger } from '../process/logging';
import { buildPlain, buildServer } from './app';
import { followBundles } from './bundles/source';
import {
  clusterQuestion,
  conditionWriter,
  driftWriter,
  machineConfigReader,
  nodeReader,
  poolReader,
  watchCluster,
} from './cluster-watch';
import { keepContact } from './ignition/api-contact';
import { createBootstrapSource } from './ignition/bootstrap-source';
import { followBootstrapTokens } from './ignition/bootstrap-tokens';
import { createClusterSource } from './ignition/cluster-source';
import { followFacts } from './ignition/facts';
import type { Preparer } from './ignition/prepare';
import { startIgnition } from './ignition/start';
import { createThreadPreparer } from './ignition/thread-preparer';
import { createJoinGate, type JoinGateOptions, type TokenView } from './join-gate';
import { createJoinUses } from './join-uses';
import { createServerMetrics, type ServerMetrics } from './metrics';
import { closeAll, listenAt, type Opened } from './closing';
import { readServerSettings, type ServerOptions, type ServerSettings } from './settings';
import { followStatements } from './order-statements';
import { followAuthority } from './own-authority';
import { followTls, type HostTls, readTls } from './tls';
import { createTokensNow } from './stored-tokens';
import { PayloadKeyFiles } from '../process/temporal/payload-keys';
import { whenAborted } from '../process/when-aborted';

export interface RunningServer {
  readonly ignitionUrl: string;
  /** The host endpoint; absent in bootstrap mode. */
  readonly hostUrl?: string;
  /** The gateway to Temporal; absent without one. */
  readonly gatewayUrl?: string;
  /** For the Temporal UI; absent without one. */
  readonly codecUrl?: string;
  readonly plainUrl: string;
  /** After the signal, when every connection is closed. */
  readonly stopped: Promise<void>;
}

interface ServerParts {
  /** Default: a thread. */
  readonly preparer?: Preparer;
  /** Time for answers under way when the process ends; default: 10 s. */
  readonly closingMs?: number;
}

const CLOSING_MS = 10_000;

interface Context {
  readonly settings: ServerSettings;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly preparer: Preparer;
  /** Fires also when starting fails. */
  readonly signal: AbortSignal;
  readonly opened: Opened[];
}

/**
 * Resolves when it listens; `/readyz` succeeds once it has seen the cluster. Waits for an absent
 * API server.
 *
 * @throws an Error that lists every wrong setting, or names the unusable file or the port that is
 *   taken; nothing stays open then
 */
export async function startServer(
  options: ServerOptions,
  signal: AbortSignal,
  parts: ServerParts = {},
): Promise<RunningServer> {
  const settings = readServerSettings(options);
  const logger = createLogger({ process: 'server', level: settings.logLevel });
  const failed = new AbortController();
  const context: Context = {
    settings,
    logger,
    metrics: createServerMetrics(),
    preparer: parts.preparer ?? createThreadPreparer(),
    signal: AbortSignal.any([signal, failed.signal]),
    opened: [],
  };
  const { closingMs = CLOSING_MS } = parts;
  const close = () => closeAll(context.opened, { withinMs: closingMs, log: logger });
  try {
    const urls = await (settings.bootstrapDir === undefined
      ? startInCluster(context)
      : startBootstrap(context, settings.bootstrapDir));
    const stopped = whenAborted(signal)
      .then(close)
      .then(() => logger.info('stopped'));
    return { ...urls, stopped };
  } catch (error) {
    failed.abort();
    await close();
    throw error;
  }
}

/** Until the signal fires. Throws as `startServer`. */
export async function runServer(options: ServerOptions, signal: AbortSignal): Promise<void> {
  await (
    await startServer(options, signal)
  ).stopped;
}

type Urls = Omit<RunningServer, 'stopped'>;

async function startInCluster(context: Context): Promise<Urls> {
  const { settings, logger, metrics, signal, opened } = context;
  const clientAuthorityFile = settings.clientAuthorityFile ?? '';
  const tls = await readTls({ ...settings, clientAuthorityFile });
  const facts = await followFacts(settings, { signal, log: logger });
  if (facts().kubeconfig === undefined) {
    logger.info('machines get no kubeconfig for bootstrapping: none is set');
  }
  const client = await connectKube({
    userAgent: 'slipway-server',
    log: logger,
    environment: process.env,
    ...(settings.kubeconfig === undefined ? {} : { kubeconfig: settings.kubeconfig }),
  });
  const serverAuthority = followAuthority(settings.authorityFile, { signal, log: logger });
  const watch = watchCluster(logger);
  const bundles = followBundles(watch.controllerConfigs, logger);
  const orderKeys = followStatements(logger);
  const tokens = watchJoinTokens(logger);
  const isAsked = settings.joinMode === 'tokens';
  const uses = createJoinUses({
    write: (id, at) => writeJoinTokenUse(client, FIELD_MANAGER.SERVER, { id, at }),
    known: (id) => tokens.find(id)?.lastUsedAt,
    log: logger,
    now: Date.now,
  });
  const watching: Promise<void>[] = [];
  opened.push({
    name: 'API server',
    close: () => Promise.all([uses.stop(), ...watching]).then(() => client.close()),
    cut: () => client.close(),
  });
  const readMachineConfig = machineConfigReader(client);
  const { ageSeconds } = keepContact(clusterQuestion(client), {
    silentMs: () => Math.max(watch.silentMs(), isAsked ? tokens.silentMs : 0),
    ...{ signal, log: logger },
  });
  const { host, plain, cutOffHosts } = buildServer({
    cluster: watch.view,
    readMachineConfig,
    readNode: nodeReader(client),
    readPools: poolReader(client),
    writeDrift: driftWriter(client),
    bundles,
    writeBundle: conditionWriter(client, FIELD_MANAGER.SERVER_BUNDLE),
    writePinned: conditionWriter(client, FIELD_MANAGER.SERVER_PINNED),
    logger,
    tls,
    metrics,
    maxConfigBytes: settings.maxConfigBytes,
    limits: settings,
    serverAuthority,
    alsoMissing: () => [
      ...(isAsked && !tokens.isSynced ? ['join tokens'] : []),
      ...bundles.missing(),
    ],
    orderStatements: () => orderKeys.statements(),
  });
  const { pools, controllerConfigs, nodes } = watch;
  const ignition = await startIgnition({
    ...context,
    source: createClusterSource({
      ...{ pools, controllerConfigs, nodes, readMachineConfig, facts, bundles, ageSeconds },
      log: logger,
    }),
    gate: gateFor(settings, tokens, {
      used: (id) => uses.note(id),
      tokensNow: createTokensNow({ read: () => readJoinTokens(client) }),
    }),
    registry: metrics.registry,
    answered: (...answer) => metrics.answered(...answer),
  });
  const { address, hostPort: port } = settings;
  opened.push({ name: 'hosts', close: () => host.close(), cut: cutOffHosts });
  await listenAt(host, { host: address, port, setting: 'hostPort, --host-port' });
  followTls(host.server as unknown as HttpsServer, settings, { tls, signal, log: logger });
  const payloadKeys = payloadKeysOf(settings, logger);
  const gateway = await startGatewayIfSet(context, tls, payloadKeys);
  const codec = await startCodecIfSet(context, client, payloadKeys);
  await listenPlain(context, plain);
  watching.push(watch.run(client, signal), bundles.run(client, signal));
  watching.push(orderKeys.run(client, signal));
  // In mode open, it needs no right to read tokens.
  if (isAsked) watching.push(tokens.run(client, signal));
  const urls = {
    ignitionUrl: urlOf('https', ignition),
    hostUrl: urlOf('https', host.server),
    ...(gateway === undefined ? {} : { gatewayUrl: urlOf('https', gateway) }),
    ...(codec === undefined ? {} : { codecUrl: urlOf('https', codec.server) }),
    plainUrl: urlOf('http', plain.server),
  };
  logger.info(urls, 'listening');
  return urls;
}

function payloadKeysOf({ payloadKeys }: ServerSettings, log: Logger): PayloadKeyFiles | undefined {
  return payloadKeys === undefined ? undefined : new PayloadKeyFiles(payloadKeys, { log });
}

async function startGatewayIfSet(
  context: Context,
  tls: HostTls,
  payloadKeys: PayloadKeyFiles | undefined,
) {
  const { settings, logger, metrics, signal, opened } = context;
  const { temporalAddress } = settings;
  if (temporalAddress === undefined || payloadKeys === undefined) {
    logger.info('hosts have no gateway to Temporal: temporalAddress or payloadKeys is not set');
    return undefined;
  }
  // Loaded only when it runs: the messages of Temporal take memory.
  const { startGateway } = await import('./gateway/start.js');
  const place = { ...settings, temporalAddress };
  const { registry } = metrics;
  return startGateway({
    ...{ settings, place, payloadKeys, tls, registry, signal, opened },
    log: logger,
  });
}

async function startCodecIfSet(
  { settings, logger, signal, opened }: Context,
  client: KubeClient,
  payloadKeys: PayloadKeyFiles | undefined,
) {
  const { codecOrigin: origin } = settings;
  if (origin === undefined || payloadKeys === undefined) return undefined;
  const { startCodec } = await import('./codec/start.js');
  return startCodec({ settings, client, payloadKeys, origin, signal, logger, opened });
}

async function startBootstrap(context: Context, directory: string): Promise<Urls> {
  const { settings, logger, metrics, signal } = context;
  const facts = await followFacts(settings, { signal, log: logger });
  const tokens = await followBootstrapTokens(directory, { signal, log: logger });
  const ignition = await startIgnition({
    ...context,
    source: createBootstrapSource({ directory, facts }),
    gate: gateFor(settings, tokens),
    registry: metrics.registry,
    answered: (...answer) => metrics.answered(...answer),
  });
  const plain = buildPlain({ metrics, logger, missing: () => [] });
  await listenPlain(context, plain);
  const urls = {
    ignitionUrl: urlOf('https', ignition),
    plainUrl: urlOf('http', plain.server),
  };
  logger.info({ ...urls, directory }, 'listening');
  return urls;
}

async function listenPlain({ settings, opened }: Context, plain: FastifyInstance): Promise<void> {
  const { plainAddress: host, plainPort: port } = settings;
  const cut = () => plain.server.closeAllConnections();
  opened.push({ name: 'health and metrics', close: () => plain.close(), cut });
  await listenAt(plain, { host, port, setting: 'plainPort, --plain-port' });
}

function gateFor(
  settings: ServerSettings,
  tokens: TokenView,
  more: Pick<JoinGateOptions, 'tokensNow' | 'used'> = {},
) {
  const { joinMode: mode, allowNetwork: allowedNetworks } = settings;
  return createJoinGate({ mode, allowedNetworks, tokens, now: Date.now, ...more });
}

function urlOf(scheme: string, server: { address(): AddressInfo | string | null }): string {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `${scheme}://${host}:${address.port}`;
}
