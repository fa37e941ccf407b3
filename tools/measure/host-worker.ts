/**
 * Memory, CPU and start of one idle host worker, with the settings of its unit, against a real Temporal
 * server: `node dist/tools/measure/host-worker.js [FILE.cjs]`. FILE is dist/host/slipway-host.cjs unless
 * another one is named.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { repositoryRoot } from '../repository-root';
import { startTemporal } from '../temporal';

/** As in `deploy/host/slipway-host.service`. */
const UNIT_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  NODE_OPTIONS: '--max-semi-space-size=1 --v8-pool-size=1',
};
const IDLE_SECONDS = 30;
const MIB = 1024;

/** In kB and clock ticks, from `/proc`. */
async function usageOf(pid: number): Promise<{ rssKib: number; peakKib: number; ticks: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    rssKib: kib('VmRSS'),
    peakKib: kib('VmHWM'),
    ticks: Number(fields[11]) + Number(fields[12]),
  };
}

async function main(): Promise<void> {
  const file = process.argv[2] ?? join(repositoryRoot(), 'dist', 'host', 'slipway-host.cjs');
  const directory = await mkdtemp(join(tmpdir(), 'slipway-measure-'));
  const temporal = await startTemporal({ ui: false });
  try {
    const authority = join(directory, 'ca.crt');
    await writeFile(authority, '');
    const began = performance.now();
    const child = spawn(process.execPath, [file, 'host-worker'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        PATH: process.env['PATH'],
        ...UNIT_ENVIRONMENT,
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        SLIPWAY_SERVER_URL: 'https://127.0.0.1:9',
        SLIPWAY_NODE: 'worker-1',
        SLIPWAY_ROOT: directory,
        SLIPWAY_DRIVER: 'none',
        SLIPWAY_AUTHORITY_FILE: authority,
        SLIPWAY_START_JITTER_SECONDS: '0',
      },
    });
    const { pid } = child;
    if (pid === undefined) throw new Error(`${file} did not start`);
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.includes('host serves its queue')) break;
    }
    const startMs = Math.round(performance.now() - began);
    const ready = await usageOf(pid);
    await delay(IDLE_SECONDS * 1000);
    const idle = await usageOf(pid);
    const figures = {
      file,
      startMs,
      startCpuMs: ready.ticks * 10,
      idleRssMib: Math.round(idle.rssKib / MIB),
      peakRssMib: Math.round(idle.peakKib / MIB),
      idleCpuMsPerMinute: Math.round(((idle.ticks - ready.ticks) * 10 * 60) / IDLE_SECONDS),
    };
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  } finally {
    await temporal.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exitCode = 1;
});
