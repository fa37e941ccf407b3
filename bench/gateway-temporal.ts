/** A Temporal that only holds polls and hands out tasks, so that the gateway is what is measured. */

import { readFileSync } from 'node:fs';
import {
  createSecureServer,
  createServer,
  type Http2Server,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { temporal } from '@temporalio/proto';
import { answer, DONE, messageOf, POLL } from './gateway-messages';

export interface TemporalFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly authorityFile: string;
}

export type TemporalQuestion =
  | { readonly start: TemporalFiles }
  | { readonly handOut: { readonly perSecond: number; readonly tasks: number } }
  | 'polls';

export type TemporalAnswer =
  /** For the gateway, and for hosts without one. */
  | { readonly ports: readonly [plain: number, tls: number] }
  | { readonly latenciesMs: readonly number[] }
  | { readonly polls: number; readonly connections: number };

const { PollActivityTaskQueueRequest, PollActivityTaskQueueResponse } =
  temporal.api.workflowservice.v1;
const { RespondActivityTaskCompletedRequest } = temporal.api.workflowservice.v1;

const HOLD_MS = 60_000;
/** An order of Slipway has about this size. */
const ORDER = Buffer.alloc(1_000, 'x');
const PATIENCE_MS = 30_000;

/** By queue: hands out a task. */
const waiting = new Map<string, () => void>();
/** By queue: when its task went out. */
const out = new Map<string, number>();
const latenciesMs: number[] = [];
let connections = 0;

function poll(stream: ServerHttp2Stream, queue: string): void {
  const late = setTimeout(() => {
    waiting.delete(queue);
    answer(stream, new Uint8Array());
  }, HOLD_MS);
  stream.on('close', () => clearTimeout(late));
  waiting.set(queue, () => {
    clearTimeout(late);
    waiting.delete(queue);
    out.set(queue, performance.now());
    const task = {
      taskToken: Buffer.from(queue),
      activityId: queue,
      activityType: { name: 'applyUpdate' },
      attempt: 1,
      input: { payloads: [{ data: ORDER }] },
    };
    answer(stream, PollActivityTaskQueueResponse.encode(task).finish());
  });
}

function completed(queue: string): void {
  const since = out.get(queue);
  if (since !== undefined) latenciesMs.push(performance.now() - since);
  out.delete(queue);
}

async function serve(stream: ServerHttp2Stream, path: string | undefined): Promise<void> {
  const message = await messageOf(stream);
  if (path === POLL) {
    poll(stream, PollActivityTaskQueueRequest.decode(message).taskQueue?.name ?? '');
    return;
  }
  if (path === DONE) {
    const { taskToken } = RespondActivityTaskCompletedRequest.decode(message);
    // Without the gateway, hosts send the token as they got it.
    completed(Buffer.from(taskToken).toString());
  }
  answer(stream, new Uint8Array());
}

async function start(files: TemporalFiles): Promise<readonly [number, number]> {
  const servers: readonly Http2Server[] = [
    createServer(),
    createSecureServer({
      cert: readFileSync(files.certificateFile),
      key: readFileSync(files.keyFile),
      ca: readFileSync(files.authorityFile),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  ];
  const ports = servers.map(async (server) => {
    server.on('session', () => {
      connections += 1;
    });
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined); // a poll was given up
      serve(stream, headers[':path']).catch(() => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  });
  const [plain = 0, tls = 0] = await Promise.all(ports);
  return [plain, tls];
}

/** To one host after the other, and waits for the last answer. */
async function handOut(perSecond: number, tasks: number): Promise<void> {
  latenciesMs.length = 0;
  out.clear();
  const queues = [...waiting.keys()].slice(0, tasks);
  const begun = performance.now();
  for (const [index, queue] of queues.entries()) {
    const dueMs = begun + (index * 1_000) / perSecond - performance.now();
    if (dueMs > 0) await delay(dueMs);
    waiting.get(queue)?.();
  }
  const endMs = performance.now() + PATIENCE_MS;
  while (out.size > 0 && performance.now() < endMs) await delay(50);
}

async function answerTo(question: TemporalQuestion): Promise<TemporalAnswer> {
  if (question === 'polls') return { polls: waiting.size, connections };
  if ('start' in question) return { ports: await start(question.start) };
  await handOut(question.handOut.perSecond, question.handOut.tasks);
  return { latenciesMs };
}

process.on('message', (question: TemporalQuestion) => {
  void answerTo(question).then((given) => process.send?.(given));
});
