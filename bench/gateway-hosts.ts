/** Many hosts in one process: each with a connection of its own, a certificate and an open poll. */

import { connect, type ClientHttp2Session } from 'node:http2';
import { createSecureContext } from 'node:tls';
import { temporal } from '@temporalio/proto';
import { hostQueue } from '../core/names';
import { ask, DONE, POLL } from './gateway-messages';

export interface HostsJob {
  readonly url: string;
  readonly authority: string;
  readonly namespace: string;
  readonly hosts: readonly HostOfJob[];
}

export interface HostOfJob {
  readonly name: string;
  readonly certificate: string;
  readonly key: string;
}

export interface HostsAnswer {
  readonly connected: number;
  readonly failures: number;
}

const { PollActivityTaskQueueRequest, PollActivityTaskQueueResponse } =
  temporal.api.workflowservice.v1;
const { RespondActivityTaskCompletedRequest } = temporal.api.workflowservice.v1;

/** As the SDK's. */
const PING_MS = 30_000;
const AT_ONCE = 50;

let failures = 0;

function connection({ url, authority }: HostsJob, host: HostOfJob): Promise<ClientHttp2Session> {
  const secureContext = createSecureContext({
    cert: host.certificate,
    key: host.key,
    ca: authority,
  });
  return new Promise((resolve, reject) => {
    const session = connect(url, { secureContext, ca: authority });
    session.once('remoteSettings', () => resolve(session));
    session.once('error', reject);
    session.on('close', () => {
      failures += 1;
    });
  });
}

async function serveHost(
  session: ClientHttp2Session,
  { namespace }: HostsJob,
  { name }: HostOfJob,
): Promise<void> {
  const queue = { name: hostQueue(name) };
  const poll = PollActivityTaskQueueRequest.encode({ namespace, taskQueue: queue }).finish();
  setTimeout(() => {
    setInterval(() => session.ping(() => undefined), PING_MS);
  }, Math.random() * PING_MS);
  while (!session.closed) {
    const message = await ask(session, POLL, poll);
    if (message === undefined) failures += 1;
    if (message === undefined || message.length === 0) continue;
    const { taskToken } = PollActivityTaskQueueResponse.decode(message);
    const done = RespondActivityTaskCompletedRequest.encode({ namespace, taskToken }).finish();
    if ((await ask(session, DONE, done)) === undefined) failures += 1;
  }
}

async function run(job: HostsJob): Promise<HostsAnswer> {
  const left = [...job.hosts];
  let connected = 0;
  const some = async (): Promise<void> => {
    for (let host = left.pop(); host !== undefined; host = left.pop()) {
      const session = await connection(job, host);
      connected += 1;
      void serveHost(session, job, host);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
  return { connected, failures };
}

process.on('message', (job: HostsJob | 'failures') => {
  if (job === 'failures') process.send?.({ connected: 0, failures });
  else void run(job).then((answer) => process.send?.(answer));
});
