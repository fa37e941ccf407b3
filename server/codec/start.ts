/** Makes the codec for the Temporal UI listen. */

import type { Server as HttpsServer } from 'node:https';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { KubeClient } from '../../adapters/kube/client';
import { payloadCodec } from '../../process/temporal/payload-codec';
import type { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { listenAt, type Opened } from '../closing';
import type { FollowLog } from '../follow-files';
import type { ServerSettings } from '../settings';
import { followTls, readTls } from '../tls';
import { createCodecApp } from './app';
import { judgeBy } from './readers';

interface Starting {
  readonly settings: ServerSettings;
  readonly client: KubeClient;
  readonly payloadKeys: PayloadKeyFiles;
  readonly origin: string;
  readonly signal: AbortSignal;
  readonly logger: FastifyBaseLogger & FollowLog;
  readonly opened: Opened[];
}

/** @throws an Error that names the unusable file, or the port that is taken */
export async function startCodec(input: Starting): Promise<FastifyInstance> {
  const { settings, client, payloadKeys, origin, signal, logger, opened } = input;
  const { address: host, codecPort: port, certificateFile, keyFile } = settings;
  const files = { certificateFile, keyFile };
  const tls = await readTls(files);
  const app = createCodecApp({
    codec: payloadCodec(payloadKeys),
    judge: judgeBy(client),
    ...{ origin, logger, tls },
  });
  const server = app.server as unknown as HttpsServer;
  const cut = () => server.closeAllConnections();
  opened.push({ name: 'codec for the Temporal UI', close: () => app.close(), cut });
  await listenAt(app, { host, port, setting: 'codecPort, --codec-port' });
  followTls(server, files, { tls, signal, log: logger });
  return app;
}
