/** The production server in its own process. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { messageOf } from '../core/errors';
import { startServer } from '../server/main';
import type { ServerOptions } from '../server/settings';

export type ServerQuestion = { readonly start: ServerOptions } | 'reset' | 'figures';

export interface ServerFigures {
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** Longest time in which the event loop answered nothing. */
  readonly longestBlockMs: number;
  /** In processor time of the loop, which other load on the core does not change. */
  readonly longestBlockProcessorMs: number;
  readonly processorMs: number;
}

export type ServerAnswer =
  | { readonly port: number; readonly hostUrl?: string }
  | { readonly figures: ServerFigures }
  | { readonly reset: true }
  | { readonly failure: string };

const RESOLUTION_MS = 5;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let before = process.cpuUsage();
let longestBlockProcessorMs = 0;

/** One turn of the event loop, however long it waited for a core. */
function watchTurns(): void {
  let last = process.threadCpuUsage();
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(last);
    last = process.threadCpuUsage();
    longestBlockProcessorMs = Math.max(longestBlockProcessorMs, (user + system) / 1000);
  }, RESOLUTION_MS).unref();
}

function say(answer: ServerAnswer): void {
  process.send?.(answer);
}

function figures(): ServerFigures {
  const { user, system } = process.cpuUsage(before);
  return {
    rssBytes: process.memoryUsage.rss(),
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    // The histogram includes this interval.
    longestBlockMs: Math.max(0, delay.max / 1e6 - RESOLUTION_MS),
    longestBlockProcessorMs,
    processorMs: (user + system) / 1000,
  };
}

async function answer(question: ServerQuestion): Promise<void> {
  if (question === 'figures') say({ figures: figures() });
  else if (question === 'reset') {
    delay.reset();
    longestBlockProcessorMs = 0;
    before = process.cpuUsage();
    say({ reset: true });
  } else {
    const stop = new AbortController();
    process.once('disconnect', () => {
      stop.abort();
    });
    const { ignitionUrl, hostUrl } = await startServer(question.start, stop.signal);
    delay.enable();
    watchTurns();
    const port = Number(new URL(ignitionUrl).port);
    say({ port, ...(hostUrl === undefined ? {} : { hostUrl }) });
  }
}

process.on('message', (question: ServerQuestion) => {
  answer(question).catch((error: unknown) => {
    say({ failure: messageOf(error) });
  });
});
