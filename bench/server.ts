/**
 * First configs over 50 connections, and the boot storm of 2,000 machines. Server and machines run
 * in two processes; with two cores, each has its own.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateUse, issueCertificate, newAuthority } from '../tools/cluster/certificates';
import { percentile } from '../tools/measure/percentile';
import { answerTo, startChild } from './child';
import { POOL, writeServedConfig } from './server-config';
import type { LoadJob, LoadResult } from './server-load';
import type { ServerAnswer, ServerFigures, ServerQuestion } from './server-process';

interface ServerBenchOptions {
  readonly connections: number;
  /** Seconds of load for each spec version. */
  readonly seconds: number;
  readonly replyBytes: number;
  readonly machines: number;
  readonly idle: number;
  readonly onStep: (text: string) => void;
}

interface ServerBenchRow {
  readonly version: string;
  readonly encoding: string;
  readonly replyBytes: number;
  readonly requestsPerSecond: number;
  /** As one whole core serves them. */
  readonly requestsPerProcessorSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: number;
  readonly longestBlockMs: number;
  readonly longestBlockProcessorMs: number;
  readonly rssMiB: number;
}

interface BootStormResult {
  readonly machines: number;
  readonly encoding: string;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly longestBlockMs: number;
  readonly longestBlockProcessorMs: number;
  readonly serverProcessorSeconds: number;
  readonly peakRssMiB: number;
}

interface IdleResult {
  readonly idleConnections: number;
  /** When the last machine had its answer. */
  readonly stillOpen: number;
  readonly machines: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly longestBlockProcessorMs: number;
  /** Before the idle connections, and while they are open. */
  readonly rssMiB: readonly [number, number];
}

interface ServerBenchResult {
  readonly name: 'server';
  readonly cores: number;
  /** Of the minute before: shows other work on the machine. */
  readonly loadAverage: number;
  readonly connections: number;
  readonly rows: readonly ServerBenchRow[];
  readonly storms: readonly BootStormResult[];
  readonly idle: IdleResult;
}

const MIB = 1024 * 1024;

/** Ignition asks without compression. */
const CASES = [
  ['3.4.0', 'identity'],
  ['3.1.0', 'identity'],
  ['2.2.0', 'identity'],
  ['3.4.0', 'zstd'],
] as const;

export async function runServerBench(options: ServerBenchOptions): Promise<ServerBenchResult> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-bench-server-'));
  const loadAverage = rounded(loadavg()[0] ?? 0);
  const bench = await startBench(directory, options);
  try {
    const rows: ServerBenchRow[] = [];
    for (const [version, encoding] of CASES) {
      options.onStep(`${version}, ${encoding}: ${options.connections} connections`);
      rows.push(await measureVersion(bench, version, encoding, options));
    }
    const storms: BootStormResult[] = [];
    for (const encoding of ['identity', 'zstd']) {
      options.onStep(`boot storm, ${encoding}: ${options.machines} machines`);
      storms.push(await measureStorm(bench, encoding, options));
    }
    options.onStep(`${options.idle} idle connections`);
    const idle = await measureIdle(bench, options);
    const { connections } = options;
    return { name: 'server', cores: cpus().length, loadAverage, connections, rows, storms, idle };
  } finally {
    bench.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

interface Bench {
  load(job: Pick<LoadJob, 'headers' | 'connections' | 'seconds' | 'idle'>): Promise<LoadResult>;
  reset(): Promise<void>;
  figures(): Promise<ServerFigures>;
  headers(version: string, encoding: string): Readonly<Record<string, string>>;
  stop(): void;
}

async function startBench(directory: string, options: ServerBenchOptions): Promise<Bench> {
  const authority = await newAuthority('slipway-bench');
  const credentials = await issueCertificate(authority, {
    subject: { commonName: 'slipway-server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1', 'localhost'],
  });
  const certificateFile = join(directory, 'tls.crt');
  const keyFile = join(directory, 'tls.key');
  await writeFile(certificateFile, credentials.certificate);
  await writeFile(keyFile, credentials.key, { mode: 0o600 });
  const bootstrapDir = join(directory, 'bootstrap');
  const token = await writeServedConfig(bootstrapDir, options.replyBytes);
  // The server logs as in production.
  const server = startChild('server-process.js');
  const load = startChild('server-load.js');
  const ask = async (question: ServerQuestion): Promise<ServerAnswer> =>
    answerTo<ServerAnswer>(server, question);
  const started = await ask({
    start: {
      bootstrapDir,
      certificateFile,
      keyFile,
      address: '127.0.0.1',
      ignitionPort: 0,
      plainAddress: '127.0.0.1',
      plainPort: 0,
      // For the idle connections and the machines beside them.
      maxConnections: Math.max(4_096, options.idle + 1_000),
    },
  });
  if (!('port' in started)) throw new Error(`the server did not start: ${JSON.stringify(started)}`);
  const { port } = started;
  return {
    load: (job) =>
      answerTo<LoadResult>(load, {
        ...job,
        port,
        authority: authority.certificate,
        path: `/config/${POOL}`,
      }),
    reset: async () => {
      await ask('reset');
    },
    figures: async () => {
      const answer = await ask('figures');
      if (!('figures' in answer)) throw new Error('the server gave no figures');
      return answer.figures;
    },
    headers: (version, encoding) => ({
      Accept: `application/vnd.coreos.ignition+json;version=${version}, */*;q=0.1`,
      'Accept-Encoding': encoding,
      Authorization: `Bearer ${token}`,
    }),
    stop: () => {
      for (const process of [server, load]) process.kill('SIGKILL');
    },
  };
}

async function measureVersion(
  bench: Bench,
  version: string,
  encoding: string,
  { connections, seconds }: ServerBenchOptions,
): Promise<ServerBenchRow> {
  const headers = bench.headers(version, encoding);
  // Warm-up: prepares the bytes, and gets the code compiled.
  await bench.load({ headers, connections, seconds: Math.min(seconds, 3) });
  await bench.reset();
  const load = await bench.load({ headers, connections, seconds });
  const figures = await bench.figures();
  return {
    version,
    encoding,
    replyBytes: load.bytes,
    requestsPerSecond: rounded(load.requests / load.seconds),
    requestsPerProcessorSecond: rounded((load.requests / figures.processorMs) * 1000),
    p50Ms: rounded(percentile(load.latenciesMs, 0.5)),
    p99Ms: rounded(percentile(load.latenciesMs, 0.99)),
    failures: Object.values(load.failures).reduce((sum, count) => sum + count, 0),
    longestBlockMs: rounded(figures.longestBlockMs),
    longestBlockProcessorMs: rounded(figures.longestBlockProcessorMs),
    rssMiB: Math.round(figures.rssBytes / MIB),
  };
}

async function measureStorm(
  bench: Bench,
  encoding: string,
  { machines }: ServerBenchOptions,
): Promise<BootStormResult> {
  await bench.reset();
  const headers = bench.headers('3.4.0', encoding);
  const load = await bench.load({ headers, connections: machines });
  const figures = await bench.figures();
  return {
    machines,
    encoding,
    seconds: rounded(load.seconds),
    p50Ms: rounded(percentile(load.latenciesMs, 0.5)),
    p99Ms: rounded(percentile(load.latenciesMs, 0.99)),
    failures: load.failures,
    longestBlockMs: rounded(figures.longestBlockMs),
    longestBlockProcessorMs: rounded(figures.longestBlockProcessorMs),
    serverProcessorSeconds: rounded(figures.processorMs / 1000),
    peakRssMiB: Math.round(figures.peakRssBytes / MIB),
  };
}

/** Few enough to ask before the server closes the idle connections. */
const BESIDE_IDLE = 50;

async function measureIdle(bench: Bench, { idle }: ServerBenchOptions): Promise<IdleResult> {
  const headers = bench.headers('3.4.0', 'identity');
  const before = await bench.figures();
  await bench.reset();
  const load = await bench.load({ headers, connections: BESIDE_IDLE, idle });
  const after = await bench.figures();
  return {
    idleConnections: idle,
    stillOpen: load.idleOpen,
    machines: load.requests,
    p50Ms: rounded(percentile(load.latenciesMs, 0.5)),
    p99Ms: rounded(percentile(load.latenciesMs, 0.99)),
    failures: load.failures,
    longestBlockProcessorMs: rounded(after.longestBlockProcessorMs),
    rssMiB: [Math.round(before.rssBytes / MIB), Math.round(after.rssBytes / MIB)],
  };
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
