import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors';
import { fewLines } from '../../core/few';
import { installTemporalRuntime } from '../temporal/runtime';
import { addHostMetrics } from './metrics';
import { withoutNoise } from './without-noise';
import type { Logger } from '../logging';

interface WatchedSettings {
  readonly kind: 'single' | 'simulated';
  /** Absent: nowhere. */
  readonly metrics?: { readonly host: string; readonly port: number };
}

/** A connection to Temporal. */
interface Linked {
  waitingFor(): readonly string[];
  deathSentence(): string | undefined;
}

interface WatchedHosts {
  readonly onConfigured: (node: string, config: string | undefined) => void;
  readonly onPolling: (node: string) => void;
  readonly onLink: (link: Linked) => void;
  close(): Promise<void>;
}

const NAMES_SHOWN = 5;

interface WatchOptions {
  /** Between two tries to serve; default: ten seconds. */
  readonly retryMs?: number;
  readonly installRuntime?: typeof installTemporalRuntime;
}

const RETRY_MS = 10_000;

/**
 * Serves health and metrics if the settings say where. The modules are loaded only then, to save
 * memory.
 *
 * A real machine that cannot serve them runs without: an update may have taken the port, and the
 * worker must be there to roll it back.
 *
 * @throws for simulated hosts, when the port is taken
 */
export async function watchHosts(
  settings: WatchedSettings,
  nodes: readonly string[],
  log: Logger,
  options: WatchOptions = {},
): Promise<WatchedHosts> {
  const starting = new Set(nodes);
  const links = new Set<Linked>();
  // The starting process may wait for this line.
  const ready =
    settings.kind === 'simulated'
      ? 'all simulated hosts serve their queues'
      : 'host serves its queue';
  const served = await serve(settings, { starting, count: nodes.length, log, links }, options);
  return {
    onConfigured: () => undefined,
    onLink: (link) => {
      links.add(link);
    },
    onPolling: (node) => {
      const isFirst = starting.delete(node);
      if (isFirst && starting.size === 0) log.info({ hosts: nodes.length }, ready);
      if (!isFirst) served?.restarted();
    },
    close: async () => served?.close(),
  };
}

interface Watched {
  readonly starting: ReadonlySet<string>;
  readonly count: number;
  readonly log: Logger;
  readonly links: ReadonlySet<Linked>;
}

async function serve(
  { kind, metrics }: WatchedSettings,
  { starting, count, log, links }: Watched,
  { retryMs = RETRY_MS, installRuntime = installTemporalRuntime }: WatchOptions,
): Promise<{ restarted(): void; close(): Promise<void> } | undefined> {
  if (metrics === undefined) return undefined;
  const client = await import('prom-client');
  const { freeLoopbackPort, startHealthServer } = await import('../health-server.js');
  const core = `127.0.0.1:${await freeLoopbackPort()}`;
  try {
    installRuntime(withoutNoise(log), core);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'metrics of Temporal are missing');
    installRuntime(withoutNoise(log));
  }
  const registry = new client.Registry();
  client.collectDefaultMetrics({ register: registry });
  const { restarted } = addHostMetrics(client, registry, () => count - starting.size);
  const start = async (): Promise<Closing> => {
    const health = await startHealthServer({
      ...metrics,
      registry,
      moreMetrics: `http://${core}/metrics`,
      waitingFor: () => [
        ...fewLines([...starting], { most: NAMES_SHOWN }),
        ...new Set([...links].flatMap((link) => link.waitingFor())),
      ],
      deathSentence: () =>
        [...links].map((link) => link.deathSentence()).find((sentence) => sentence !== undefined),
    });
    log.info({ metrics: health.url }, 'host worker starting');
    return health;
  };
  const health = kind === 'simulated' ? await start() : await sometime(start, retryMs, log);
  return { restarted, close: () => health.close() };
}

interface Closing {
  close(): Promise<void>;
}

/** Retries until it succeeds or is closed. */
async function sometime(
  start: () => Promise<Closing>,
  retryMs: number,
  log: Logger,
): Promise<Closing> {
  const ended = new AbortController();
  const { signal } = ended;
  let isTold = false;
  const tryOnce = async (): Promise<Closing | undefined> => {
    try {
      return await start();
    } catch (error) {
      const reason = { reason: messageOf(error) };
      if (isTold) log.debug(reason, 'metrics cannot be served yet');
      else log.warn(reason, 'metrics cannot be served yet');
      isTold = true;
      return undefined;
    }
  };
  const first = await tryOnce();
  const goOn = async (): Promise<Closing | undefined> => {
    let started = first;
    while (started === undefined && !signal.aborted) {
      await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) started = await tryOnce();
    }
    return started;
  };
  const running = goOn();
  return {
    async close() {
      ended.abort();
      await (await running)?.close();
    },
  };
}
