/**
 * Memory, CPU and start time of one idle host worker, with the settings of its unit, against a real
 * Temporal server: `node dist/tools/measure/host-worker.js [FILE.cjs…]`. FILE is
 * dist/host-bundle/slipway-host.cjs by default; several files take turns.
 */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { repositoryRoot } from '../repository-root';
import { startTemporal, type TemporalServer } from '../temporal';

/** As in `deploy/host/slipway-host.service`. */
const UNIT_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  NODE_OPTIONS: '--max-semi-space-size=1 --v8-pool-size=1',
};
const IDLE_SECONDS = 30;
const MIB = 1024;
const FILES = 100;
const BYTES_PER_FILE = 4096;

/** In kB and clock ticks. */
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

/** A config, and files that match it. */
async function writeMachine(directory: string): Promise<void> {
  const files = Array.from({ length: FILES }, (_, index) => ({
    path: `/etc/measure/file-${index}`,
    content: `file ${index} `.repeat(BYTES_PER_FILE).slice(0, BYTES_PER_FILE),
  }));
  await mkdir(join(directory, 'etc/measure'), { recursive: true });
  await mkdir(join(directory, 'etc/machine-config-daemon'), { recursive: true });
  for (const { path, content } of files) await writeFile(join(directory, path), content);
  const config = {
    kind: 'MachineConfig',
    apiVersion: 'machineconfiguration.openshift.io/v1',
    metadata: { name: 'rendered-worker-measure' },
    spec: {
      osImageURL: '',
      config: {
        ignition: { version: '3.4.0' },
        storage: {
          files: files.map(({ path, content }) => ({
            path,
            mode: 0o644,
            contents: { source: `data:,${encodeURIComponent(content)}` },
          })),
        },
      },
    },
  };
  const place = join(directory, 'etc/machine-config-daemon/currentconfig');
  await writeFile(place, JSON.stringify(config));
}

async function measure(file: string, directory: string, { address, namespace }: TemporalServer) {
  const began = performance.now();
  const child = spawn(process.execPath, [file, 'host-worker'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      ...UNIT_ENVIRONMENT,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      SLIPWAY_SERVER_URL: 'https://127.0.0.1:9',
      SLIPWAY_NODE: 'worker-1',
      SLIPWAY_ROOT: directory,
      SLIPWAY_DRIVER: 'none',
      SLIPWAY_AUTHORITY_FILE: join(directory, 'ca.crt'),
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
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
  return {
    file,
    startMs,
    startCpuMs: ready.ticks * 10,
    idleRssMib: Math.round(idle.rssKib / MIB),
    peakRssMib: Math.round(idle.peakKib / MIB),
    idleCpuMsPerMinute: Math.round(((idle.ticks - ready.ticks) * 10 * 60) / IDLE_SECONDS),
  };
}

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const files =
    named.length > 0 ? named : [join(repositoryRoot(), 'dist/host-bundle/slipway-host.cjs')];
  const directory = await mkdtemp(join(tmpdir(), 'slipway-measure-'));
  const temporal = await startTemporal({ ui: false });
  try {
    await writeFile(join(directory, 'ca.crt'), '');
    await writeMachine(directory);
    for (const file of files) {
      const figures = await measure(file, directory, temporal);
      process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    }
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
