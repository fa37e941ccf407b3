import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { memoryOf } from './process-memory';
import { processorMs } from './processor-time';

export interface IdleUsage {
  readonly seconds: number;
  readonly residentMiB: number;
  /** Percent of one processor. */
  readonly cpuPercent: number;
}

export interface BusyUsage {
  readonly seconds: number;
  readonly peakResidentMiB: number;
  readonly cpuMs: number;
  /** Of one processor, over the whole time. */
  readonly cpuPercent: number;
}

const SAMPLE_MS = 100;

/** @throws Error when no host worker runs */
export async function usageAtRest(seconds: number): Promise<IdleUsage> {
  const [pid] = hostWorkers();
  if (pid === undefined) throw new Error('no host worker runs');
  const before = processorMs(pid) ?? 0;
  await delay(seconds * 1000);
  const after = processorMs(pid);
  if (after === undefined) throw new Error('the host worker has ended while it was watched');
  const cpuPercent = rounded((after - before) / (seconds * 10), 2);
  return { seconds, residentMiB: Math.round(memoryOf(pid, 'VmRSS') ?? 0), cpuPercent };
}

/** Adds up the processes that replace each other. */
export function watchUsage(): { stop(): BusyUsage } {
  const startedAtMs = Date.now();
  const first = new Map(hostWorkers().map((pid) => [pid, processorMs(pid) ?? 0]));
  const last = new Map<number, number>();
  let peakResidentMiB = 0;
  const look = (): void => {
    for (const pid of hostWorkers()) {
      const used = processorMs(pid);
      if (used === undefined) continue;
      last.set(pid, used - (first.get(pid) ?? 0));
      peakResidentMiB = Math.max(peakResidentMiB, memoryOf(pid, 'VmHWM') ?? 0);
    }
  };
  const timer = setInterval(look, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      const seconds = rounded((Date.now() - startedAtMs) / 1000, 1);
      const cpuMs = [...last.values()].reduce((sum, ms) => sum + ms, 0);
      return {
        seconds,
        peakResidentMiB: Math.round(peakResidentMiB),
        cpuMs,
        cpuPercent: rounded(cpuMs / (seconds * 10), 1),
      };
    },
  };
}

/** Processes whose command line is that of the service. */
function hostWorkers(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const words = textOf(`/proc/${pid}/cmdline`).split('\0');
      return words.includes('host-worker') && words.some((word) => /slipway-host\.cjs$/.test(word));
    });
}

/** Empty when the process is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
