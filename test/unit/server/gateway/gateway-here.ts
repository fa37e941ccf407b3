/** The gateway in front of a Temporal of functions. */

import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionLike, WorkflowService } from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { Registry } from 'prom-client';
import { createGateway, type Gateway } from '../../../../server/gateway/endpoint';
import { methodsOfHosts } from '../../../../server/gateway/methods';
import { addGatewayMetrics } from '../../../../server/gateway/metrics';
import { payloadGate } from '../../../../server/gateway/payloads';
import { tokenKeys } from '../../../../server/gateway/token-keys';
import { PayloadKeyFiles } from '../../../../process/temporal/payload-keys';
import { readTls } from '../../../../server/tls';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  type Credentials,
  type Subject,
} from '../../../../tools/cluster/certificates';
import type { ClientFiles } from '../../../integration/server/grpc-client';

export const NAMESPACE = 'slipway';

const READABLE: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async (payloads) => payloads,
};

export interface GatewayHere {
  readonly url: string;
  readonly gateway: Gateway;
  readonly log: Readonly<Record<string, unknown>>[];
  readonly registry: Registry;
  filesOf(node: string | Subject): Promise<ClientFiles>;
  stop(): Promise<void>;
}

/** What a call of Temporal answers; the signal is that of the host's call. */
export type FakeService = Partial<
  Record<keyof WorkflowService, (request: never, signal: AbortSignal) => Promise<object>>
>;

export async function gatewayHere(
  service: FakeService,
  times: NonNullable<Parameters<typeof createGateway>[0]['times']> = {},
): Promise<GatewayHere> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-gateway-here-'));
  const authority = await newAuthority('slipway-test');
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, authority.certificate);
  const server = await write(
    join(directory, 'server'),
    caFile,
    await issueCertificate(authority, {
      subject: { commonName: 'slipway-server' },
      use: CertificateUse.SERVER,
      addresses: ['127.0.0.1'],
    }),
  );
  const keys = join(directory, 'keys');
  await mkdir(keys);
  await writeFile(join(keys, '20260101T000000Z'), randomBytes(32));
  const log: Record<string, unknown>[] = [];
  const note = (fields: object, msg: string): void => void log.push({ ...fields, msg });
  const registry = new Registry();
  const gateway = createGateway({
    tls: await readTls({
      certificateFile: server.certFile,
      keyFile: server.keyFile,
      clientAuthorityFile: caFile,
    }),
    methods: methodsOfHosts({
      temporal: fakeLink(service),
      namespace: NAMESPACE,
      keys: tokenKeys(new PayloadKeyFiles(keys, { log: { warn: note } })),
      payloads: payloadGate(READABLE),
      awayMs: 20,
    }),
    maxConnections: 100,
    metrics: (now) => addGatewayMetrics(registry, now),
    log: { warn: note, error: note },
    times,
    // No time passes for the limits of calls.
    clock: () => 0,
  });
  await new Promise<void>((resolve) => gateway.server.listen(0, '127.0.0.1', resolve));
  const { port } = gateway.server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    ...{ gateway, log, registry },
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
      gateway.cut();
      await gateway.close();
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

function fakeLink(service: FakeService) {
  let current = new AbortController().signal;
  const workflowService = new Proxy(
    {},
    {
      get: (_target, name: keyof WorkflowService) => (request: never) => {
        const answer = service[name];
        if (answer === undefined) throw new Error(`Temporal is asked for ${name}`);
        return answer(request, current);
      },
    },
  );
  return {
    workflowService: workflowService as ConnectionLike['workflowService'],
    withDeadline: <T>(_deadline: number | Date, work: () => Promise<T>) => work(),
    withAbortSignal: <T>(signal: AbortSignal, work: () => Promise<T>) => {
      current = signal;
      return work();
    },
  };
}
