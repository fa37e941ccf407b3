/**
 * Hosts that wait for orders at the gateway, and orders through it; the same without the gateway.
 * Hosts, gateway and a Temporal that only holds polls are one process each.
 */

import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TEMPORAL_NAMESPACE } from '../core/names';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  type Credentials,
} from '../tools/cluster/certificates';
import { percentile } from '../tools/measure/percentile';
import type { HostOfJob, HostsAnswer, HostsJob } from './gateway-hosts';
import type { GatewayAnswer, GatewayQuestion } from './gateway-process';
import type { TemporalAnswer, TemporalFiles, TemporalQuestion } from './gateway-temporal';

export interface GatewayBenchOptions {
  readonly hosts: number;
  /** How long nothing happens. */
  readonly idleSeconds: number;
  readonly tasks: number;
  readonly tasksPerSecond: number;
  readonly onStep: (text: string) => void;
}

interface TasksRow {
  readonly way: 'gateway' | 'direct';
  readonly tasks: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface GatewayBenchResult {
  readonly name: 'gateway';
  readonly cores: number;
  /** Of the minute before: shows other work on the machine. */
  readonly loadAverage: number;
  readonly hosts: number;
  /** Before the hosts, with all of them waiting, and after the tasks. */
  readonly rssMiB: readonly [number, number, number];
  readonly kibPerHost: number;
  /** Of one core, while all hosts wait. */
  readonly idleProcessorPercent: number;
  readonly processorMsPerTask: number;
  readonly connectionsToTemporal: number;
  readonly failures: number;
  readonly p50AddedMs: number;
  readonly p99AddedMs: number;
  readonly rows: readonly TasksRow[];
}

const MIB = 1024 * 1024;
const SETTLE_MS = 3_000;

export async function runGatewayBench(options: GatewayBenchOptions): Promise<GatewayBenchResult> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-bench-gateway-'));
  const loadAverage = loadavg()[0] ?? 0;
  const children: ChildProcess[] = [];
  const start = (file: string): ChildProcess => {
    const started = fork(join(__dirname, file), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    children.push(started);
    return started;
  };
  try {
    options.onStep(`issuing ${options.hosts} certificates`);
    const place = await makePlace(directory, options.hosts);
    const direct = await measureDirect(place, start, options);
    for (const one of children.splice(0)) one.kill('SIGKILL');
    const through = await measureThrough(place, start, options);
    const { hosts } = options;
    const rows = [through.row, direct];
    return {
      ...{ name: 'gateway', cores: cpus().length, loadAverage, hosts },
      ...through.figures,
      p50AddedMs: through.row.p50Ms - direct.p50Ms,
      p99AddedMs: through.row.p99Ms - direct.p99Ms,
      rows,
    };
  } finally {
    for (const one of children) one.kill('SIGKILL');
    await rm(directory, { recursive: true, force: true });
  }
}

interface Place extends TemporalFiles {
  readonly authority: string;
  readonly payloadKeys: string;
  readonly hosts: readonly HostOfJob[];
}

async function makePlace(directory: string, count: number): Promise<Place> {
  const authority = await newAuthority('slipway-bench');
  const server = await issueCertificate(authority, {
    subject: { commonName: 'slipway-server' },
    use: CertificateUse.SERVER,
    addresses: ['127.0.0.1'],
  });
  const write = async (name: string, text: string): Promise<string> => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const payloadKeys = join(directory, 'keys');
  await mkdir(payloadKeys);
  await writeFile(join(payloadKeys, '20260101T000000Z'), randomBytes(32));
  const hosts: HostOfJob[] = [];
  for (let index = 0; index < count; index += 1) hosts.push(await hostOf(authority, index));
  return {
    authority: authority.certificate,
    authorityFile: await write('ca.crt', authority.certificate),
    certificateFile: await write('tls.crt', server.certificate),
    keyFile: await write('tls.key', server.key),
    ...{ payloadKeys, hosts },
  };
}

async function hostOf(authority: Credentials, index: number): Promise<HostOfJob> {
  const name = `worker-${index}`;
  const subject = { commonName: `system:node:${name}`, organizations: ['system:nodes'] };
  return { name, ...(await issueCertificate(authority, { subject, use: CertificateUse.CLIENT })) };
}

type Start = (file: string) => ChildProcess;

interface Waiting {
  readonly temporal: ChildProcess;
  readonly hosts: ChildProcess;
}

async function measureDirect(
  place: Place,
  start: Start,
  options: GatewayBenchOptions,
): Promise<TasksRow> {
  options.onStep(`${options.hosts} hosts at Temporal itself`);
  const temporal = start('gateway-temporal.js');
  const [, tls] = await portsOf(temporal, place);
  const hosts = start('gateway-hosts.js');
  await connectAll({ temporal, hosts }, place, tls);
  return measureTasks('direct', temporal, options);
}

async function measureThrough(place: Place, start: Start, options: GatewayBenchOptions) {
  options.onStep(`${options.hosts} hosts at the gateway`);
  const temporal = start('gateway-temporal.js');
  const [plain] = await portsOf(temporal, place);
  const gateway = start('gateway-process.js');
  const { payloadKeys, certificateFile, keyFile, authorityFile } = place;
  const started = await answerTo<GatewayQuestion, GatewayAnswer>(gateway, {
    start: {
      ...{ certificateFile, keyFile, payloadKeys, clientAuthorityFile: authorityFile },
      ...{ address: '127.0.0.1', gatewayPort: 0, temporalAddress: `127.0.0.1:${plain}` },
      maxGatewayConnections: options.hosts + 1_000,
    },
  });
  if (!('port' in started)) throw new Error('the gateway did not start');
  const ask = async (question: 'reset' | 'figures') => {
    const given = await answerTo<GatewayQuestion, GatewayAnswer>(gateway, question);
    if (!('figures' in given)) throw new Error('the gateway gave no figures');
    return given.figures;
  };
  const empty = await ask('figures');
  const hosts = start('gateway-hosts.js');
  await connectAll({ temporal, hosts }, place, started.port);
  options.onStep(`${options.idleSeconds} s without an order`);
  await ask('reset');
  await delay(options.idleSeconds * 1_000);
  const idle = await ask('figures');
  await ask('reset');
  const row = await measureTasks('gateway', temporal, options);
  const busy = await ask('figures');
  const polls = await answerTo<TemporalQuestion, TemporalAnswer>(temporal, 'polls');
  const { failures } = await answerTo<'failures', HostsAnswer>(hosts, 'failures');
  return {
    row,
    figures: {
      rssMiB: [empty.rssBytes / MIB, idle.rssBytes / MIB, busy.rssBytes / MIB] as const,
      kibPerHost: (idle.rssBytes - empty.rssBytes) / 1024 / options.hosts,
      idleProcessorPercent: (100 * idle.processorMs) / idle.elapsedMs,
      processorMsPerTask: busy.processorMs / row.tasks,
      connectionsToTemporal: 'connections' in polls ? polls.connections : 0,
      failures,
    },
  };
}

async function portsOf(temporal: ChildProcess, place: Place): Promise<readonly [number, number]> {
  const { certificateFile, keyFile, authorityFile } = place;
  const given = await answerTo<TemporalQuestion, TemporalAnswer>(temporal, {
    start: { certificateFile, keyFile, authorityFile },
  });
  if (!('ports' in given)) throw new Error('Temporal did not start');
  return given.ports;
}

/** Resolves when every host has an open poll. */
async function connectAll(
  { temporal, hosts }: Waiting,
  { authority, hosts: of }: Place,
  port: number,
): Promise<void> {
  const url = `https://127.0.0.1:${port}`;
  const job: HostsJob = { url, authority, namespace: TEMPORAL_NAMESPACE, hosts: of };
  await answerTo<HostsJob, HostsAnswer>(hosts, job);
  for (;;) {
    const given = await answerTo<TemporalQuestion, TemporalAnswer>(temporal, 'polls');
    if ('polls' in given && given.polls === of.length) break;
    await delay(100);
  }
  await delay(SETTLE_MS);
}

async function measureTasks(
  way: TasksRow['way'],
  temporal: ChildProcess,
  { tasks, tasksPerSecond: perSecond }: GatewayBenchOptions,
): Promise<TasksRow> {
  const given = await answerTo<TemporalQuestion, TemporalAnswer>(temporal, {
    handOut: { perSecond, tasks },
  });
  if (!('latenciesMs' in given)) throw new Error('no tasks were handed out');
  const { latenciesMs } = given;
  return {
    way,
    tasks: latenciesMs.length,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  };
}

async function answerTo<Question extends object | string, Answer>(
  process: ChildProcess,
  question: Question,
): Promise<Answer> {
  const failed = new AbortController();
  process.send(question);
  const [kind, answer] = await Promise.race([
    once(process, 'message', failed).then(([value]) => ['message', value as Answer] as const),
    once(process, 'exit', failed).then(([code]) => ['exit', code as number] as const),
  ]);
  failed.abort();
  if (kind === 'message') return answer;
  throw new Error(`a process of the benchmark ended with code ${answer}`);
}
