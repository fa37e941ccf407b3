/** The gateway in front of a real Temporal server, and workers that reach it through the gateway. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { Registry } from 'prom-client';
import { hostQueue } from '../../../core/names';
import { freeLoopbackPort } from '../../../process/health-server';
import { createLogger, type Logger } from '../../../process/logging';
import { connectionOptions } from '../../../process/temporal/connection-options';
import { PayloadKeyFiles } from '../../../process/temporal/payload-keys';
import { closeAll, type Opened } from '../../../server/closing';
import { startGateway } from '../../../server/gateway/start';
import { readServerSettings } from '../../../server/settings';
import { readTls } from '../../../server/tls';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  type Credentials,
  type Subject,
} from '../../../tools/cluster/certificates';
import { newPayloadKeys } from '../../../tools/payload-keys';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import type { ClientFiles } from './grpc-client';

export interface RunningGateway {
  readonly url: string;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Value of a metric, by name and labels as Prometheus writes them. */
  metric(line: string): Promise<number | undefined>;
  /** The allowed calls that were made. */
  calls(): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface GatewayFixture {
  readonly temporal: TemporalServer;
  /** The same port and keys each time. */
  start(): Promise<RunningGateway>;
  /** Of the certificate of a kubelet, or of another client of the cluster. */
  filesOf(node: string | Subject): Promise<ClientFiles>;
  stop(): Promise<void>;
}

export async function startGatewayFixture(): Promise<GatewayFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-gateway-'));
  const authority = await newAuthority('slipway-test');
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, authority.certificate);
  const serverFiles = await write(
    join(directory, 'server'),
    caFile,
    await issueCertificate(authority, {
      subject: { commonName: 'slipway-server' },
      use: CertificateUse.SERVER,
      addresses: ['127.0.0.1'],
    }),
  );
  const keys = newPayloadKeys(directory);
  const payloadKeys = new PayloadKeyFiles(keys.directory, { log: recordingLog().log });
  const temporal = await startTemporal({ ui: false, database: true, payloadKeys: keys });
  const gatewayPort = await freeLoopbackPort();
  return {
    temporal,
    start: () => start({ temporal, serverFiles, payloadKeys, gatewayPort }),
    async filesOf(node) {
      const subject =
        typeof node === 'string'
          ? { commonName: `system:node:${node}`, organizations: ['system:nodes'] }
          : node;
      const credentials = await issueCertificate(authority, {
        subject,
        use: CertificateUse.CLIENT,
      });
      return write(await mkdtemp(join(directory, 'client-')), caFile, credentials);
    },
    async stop() {
      await temporal.stop();
      await rm(directory, { recursive: true });
    },
  };
}

async function write(at: string, caFile: string, of: Credentials): Promise<ClientFiles> {
  await mkdir(at, { recursive: true });
  const files = { certFile: join(at, 'tls.crt'), keyFile: join(at, 'tls.key'), caFile };
  await writeFile(files.certFile, of.certificate);
  await writeFile(files.keyFile, of.key);
  return files;
}

interface Starting {
  readonly temporal: TemporalServer;
  readonly serverFiles: ClientFiles;
  readonly payloadKeys: PayloadKeyFiles;
  readonly gatewayPort: number;
}

async function start(input: Starting): Promise<RunningGateway> {
  const { temporal, serverFiles, payloadKeys } = input;
  const settings = readServerSettings({
    address: '127.0.0.1',
    gatewayPort: input.gatewayPort,
    certificateFile: serverFiles.certFile,
    keyFile: serverFiles.keyFile,
    clientAuthorityFile: serverFiles.caFile,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    payloadKeys: 'given below',
  });
  const { lines, log } = recordingLog();
  const registry = new Registry();
  const ending = new AbortController();
  const opened: Opened[] = [];
  await startGateway({
    ...{ settings, payloadKeys, registry, log, opened },
    place: { temporalAddress: temporal.address },
    tls: await readTls({ ...settings, clientAuthorityFile: serverFiles.caFile }),
    signal: ending.signal,
  });
  const linesOf = async () => (await registry.metrics()).split('\n');
  return {
    url: `https://127.0.0.1:${input.gatewayPort}`,
    log: lines,
    async metric(line) {
      const found = (await linesOf()).find((text) => text.startsWith(`${line} `));
      return found === undefined ? undefined : Number(found.split(' ').at(-1));
    },
    async calls() {
      const CALL = /^slipway_server_gateway_calls_total\{call="(\w+)"/;
      const names = (await linesOf()).flatMap((text) => CALL.exec(text)?.[1] ?? []);
      return [...new Set(names)].sort();
    },
    async stop() {
      ending.abort();
      await closeAll(opened, { withinMs: 10_000, log });
    },
  };
}

function recordingLog(): { lines: Record<string, unknown>[]; log: Logger } {
  const lines: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    lines.push(JSON.parse(text) as Record<string, unknown>);
  };
  return { lines, log: createLogger({ process: 'test', level: 'info', destination: { write } }) };
}

/** A worker of a host, as `workers/host/loop.ts` makes it. */
export async function startWorker(
  { url }: RunningGateway,
  place: { readonly node: string; readonly files: ClientFiles; readonly namespace: string },
  activities: object,
): Promise<{ stop(): Promise<void> }> {
  const { certFile, keyFile, caFile } = place.files;
  const connection = await NativeConnection.connect(
    connectionOptions({
      temporalAddress: new URL(url).host,
      temporalTlsCa: caFile,
      temporalTlsCert: certFile,
      temporalTlsKey: keyFile,
    }),
  );
  const worker = await Worker.create({
    connection,
    namespace: place.namespace,
    taskQueue: hostQueue(place.node),
    identity: `slipway-host@${place.node}`,
    activities,
    maxConcurrentActivityTaskExecutions: 2,
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 1 },
    maxHeartbeatThrottleInterval: '2s',
    shutdownGraceTime: '5s',
    shutdownForceTime: '10s',
  });
  const running = worker.run();
  return {
    async stop() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}
