/** The production gateway in its own process. */

import { Registry } from 'prom-client';
import { createLogger } from '../process/logging';
import { PayloadKeyFiles } from '../process/temporal/payload-keys';
import type { Opened } from '../server/closing';
import { startGateway } from '../server/gateway/start';
import { readServerSettings, type ServerOptions } from '../server/settings';
import { readTls } from '../server/tls';
import type { AddressInfo } from 'node:net';

export type GatewayQuestion = { readonly start: ServerOptions } | 'reset' | 'figures';

export interface GatewayFigures {
  readonly rssBytes: number;
  readonly processorMs: number;
  readonly elapsedMs: number;
}

export type GatewayAnswer = { readonly port: number } | { readonly figures: GatewayFigures };

let before = process.cpuUsage();
let since = performance.now();

function figures(): GatewayFigures {
  const { user, system } = process.cpuUsage(before);
  return {
    rssBytes: process.memoryUsage.rss(),
    processorMs: (user + system) / 1_000,
    elapsedMs: performance.now() - since,
  };
}

async function start(options: ServerOptions): Promise<number> {
  const settings = readServerSettings(options);
  const { temporalAddress = '', clientAuthorityFile = '' } = settings;
  const opened: Opened[] = [];
  const log = createLogger({ process: 'gateway', level: 'info' });
  const payloadKeys = new PayloadKeyFiles(settings.payloadKeys ?? '', { log });
  const listening = await startGateway({
    ...{ settings, payloadKeys, opened },
    place: { temporalAddress },
    tls: await readTls({ ...settings, clientAuthorityFile }),
    registry: new Registry(),
    signal: new AbortController().signal,
    log,
  });
  return (listening.address() as AddressInfo).port;
}

async function answer(question: GatewayQuestion): Promise<GatewayAnswer> {
  if (typeof question === 'object') return { port: await start(question.start) };
  if (question === 'reset') {
    before = process.cpuUsage();
    since = performance.now();
  }
  return { figures: figures() };
}

process.on('message', (question: GatewayQuestion) => {
  void answer(question).then((given) => process.send?.(given));
});
