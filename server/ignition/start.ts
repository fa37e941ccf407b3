import type { Server as HttpsServer } from 'node:https';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import type { Logger } from '../../process/logging';
import type { CountingJoinGate } from '../join-gate';
import { addJoinMetrics } from '../join-metrics';
import { listenAt, type Opened } from '../closing';
import type { ServerSettings } from '../settings';
import { followTls, readTls } from '../tls';
import { buildIgnition } from './app';
import { hostWorkerFiles } from './host-worker';
import { createIgnitionMetrics } from './metrics';
import type { Preparer } from './prepare';
import { createShelf } from './shelf';
import type { ConfigSource } from './source';

/** Of tools/setup/host-archive.mjs. */
const OF_THIS_BUILD = join(__dirname, '..', '..', 'host-worker');

interface IgnitionParts {
  readonly settings: ServerSettings;
  readonly source: ConfigSource;
  readonly gate: CountingJoinGate;
  readonly preparer: Preparer;
  readonly registry: Registry;
  readonly answered: (endpoint: string, code: number, seconds: number) => void;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Receives what has to be closed at the end. */
  readonly opened: Opened[];
}

/** @throws an Error that names the unusable file or the port that is taken */
export async function startIgnition(parts: IgnitionParts): Promise<HttpsServer> {
  const { settings, source, gate, preparer, registry, logger, signal } = parts;
  const isOpen = settings.joinMode === 'open';
  const metrics = createIgnitionMetrics(registry, {
    preparedBytes: () => shelf.size,
    ageSeconds: () => source.ageSeconds(),
    connections: () => connections(),
    isOpen,
  });
  addJoinMetrics(registry, gate);
  const shelf = createShelf({
    preparer,
    maxBytes: settings.maxFirstConfigBytes,
    prepared: metrics.prepared,
  });
  const files = {
    certificateFile: settings.certificateFile,
    keyFile: settings.keyFile,
  };
  const tls = await readTls(files);
  const { app, connections, cutOff } = buildIgnition({
    source,
    hostWorker: hostWorkerFiles(settings.hostWorkerDirectory ?? OF_THIS_BUILD),
    shelf,
    gate,
    events: { ...metrics, answered: parts.answered },
    logger,
    limits: settings,
    isAllowed: (address) => gate.allows(address),
    tls,
  });
  source.onChange?.((pool) => {
    Promise.resolve(source.look(pool)).then(
      (found) => {
        if ('served' in found) shelf.warm(found.served);
        else if (found.missing.reason === 'unknown-pool') shelf.forget(pool);
      },
      (error: unknown) => logger.error({ err: error, pool }, 'first config not prepared ahead'),
    );
  });
  if (isOpen) warnOfOpenness(settings, logger);
  parts.opened.push({
    name: 'first configs',
    // Waiting requests get their bytes.
    close: () => app.close().then(() => preparer.close()),
    cut: cutOff,
  });
  await listenAt(app, {
    host: settings.address,
    port: settings.ignitionPort,
    setting: 'ignitionPort, --ignition-port',
  });
  const server = app.server as unknown as HttpsServer;
  followTls(server, files, { tls, signal, log: logger });
  return server;
}

function warnOfOpenness({ allowNetwork }: ServerSettings, logger: Logger): void {
  const who =
    allowNetwork.length === 0 ? 'everybody who reaches the port' : allowNetwork.join(', ');
  logger.warn(
    { joinMode: 'open', allowed: who },
    'OPEN: first configs, with every secret in them, are given without a token',
  );
}
