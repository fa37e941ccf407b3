/** All that a stolen machine can ask the gateway for, made of the service descriptions. */

import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { temporal } from '@temporalio/proto';
import type { Field, Method, NamespaceBase, Service, Type } from 'protobufjs';
import { call, framed, type CallAnswer } from './grpc-client';

export interface HostileCall {
  readonly name: string;
  readonly path: string;
  /** With its prefix. */
  readonly body: Uint8Array;
  readonly headers?: OutgoingHttpHeaders;
  readonly refusal: Refusal;
}

/**
 * How the gateway says no to this call. Any other error shows that the call has passed it, or that it
 * failed: with texts of its own, an answer of Temporal is never taken for a refusal.
 */
type Refusal =
  | { readonly code: number; readonly text: RegExp }
  | { readonly http: 405 | 415; readonly code?: never };

const UNKNOWN: Refusal = { code: 7, text: /^hosts may not call \// };
const OTHER_QUEUE: Refusal = { code: 7, text: /^host \S+ has the task queue \S+ only$/ };
const OTHER_NAMESPACE: Refusal = { code: 7, text: /^hosts use the namespace \S+ only$/ };
const OTHER_TASK: Refusal = { code: 7, text: /^this task was not handed to host / };
const NOT_WHOLE: Refusal = { code: 3, text: /^expected one whole message$/ };
const NOT_INFLATED: Refusal = { code: 3, text: /^the message cannot be uncompressed$/ };
const NOT_THIS_CALL: Refusal = { code: 3, text: /^this is not the message of this call$/ };
const TOO_LARGE: Refusal = { code: 8, text: /^a message has at most 2 MiB$/ };
const NO_ENCODING: Refusal = { code: 12, text: /^compress with gzip, or not$/ };
const NO_POST: Refusal = { http: 405 };
const NO_GRPC: Refusal = { http: 415 };

/** Of the calls that a host may make. */
const REFUSAL_OF: Readonly<Record<string, Refusal>> = {
  DescribeNamespace: OTHER_NAMESPACE,
  PollActivityTaskQueue: OTHER_QUEUE,
  RecordActivityTaskHeartbeat: OTHER_TASK,
  RespondActivityTaskCanceled: OTHER_TASK,
  RespondActivityTaskCompleted: OTHER_TASK,
  RespondActivityTaskFailed: OTHER_TASK,
  ShutdownWorker: OTHER_QUEUE,
};

/** Whom the stolen machine attacks, and with what. */
export interface Aim {
  readonly namespace: string;
  /** The name in its certificate. */
  readonly thief: string;
  readonly victim: string;
  /** What runs. */
  readonly targets: readonly Target[];
  /** Of a task that was handed to the victim, as the victim got it, and as Temporal made it. */
  readonly tokens: readonly Uint8Array[];
  /** Of a task that was handed to the thief. */
  readonly ownToken: Uint8Array;
}

interface Target {
  /** Empty = the activity is of no workflow. */
  readonly workflowId: string;
  readonly activityId: string;
}

const WORKFLOW_SERVICE = '.temporal.api.workflowservice.v1.WorkflowService';

/** It takes nothing, and tells what the server can do: a worker asks at its start. */
const OPEN_TO_ALL = `${WORKFLOW_SERVICE}.GetSystemInfo`;
/** A host may ask about its own namespace, and gets little: it is tried with another one. */
const OF_OWN_NAMESPACE = `${WORKFLOW_SERVICE}.DescribeNamespace`;

/** What Temporal's descriptions for clients do not have. */
const UNDESCRIBED = [
  'temporal.server.api.adminservice.v1.AdminService/DescribeMutableState',
  'temporal.server.api.adminservice.v1.AdminService/DeleteWorkflowExecution',
  'temporal.server.api.adminservice.v1.AdminService/GetTaskQueueTasks',
  'temporal.server.api.historyservice.v1.HistoryService/TerminateWorkflowExecution',
  'temporal.server.api.matchingservice.v1.MatchingService/PollActivityTaskQueue',
  'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
];

/** Every call that is described, with every token and at every target: new ones are tried, too. */
export function describedCalls(aim: Aim): readonly HostileCall[] {
  const services = servicesIn(rootOf());
  return services.flatMap((service) =>
    service.methodsArray.flatMap((method) => {
      if (method.resolve().fullName === OPEN_TO_ALL) return [];
      const { tokens, targets } = aim;
      const fields = namesIn(requestOf(method), MAX_DEPTH);
      const hasTarget = fields.has('workflowId') || fields.has('activityId');
      return (fields.has('taskToken') ? tokens : tokens.slice(0, 1)).flatMap((token) =>
        (hasTarget ? targets : targets.slice(0, 1)).map((target) =>
          describedCall(service, method, { ...aim, token, target }),
        ),
      );
    }),
  );
}

/** Of the fields that `fieldsOf` fills. */
function namesIn(type: Type, depth: number): ReadonlySet<string> {
  return new Set(
    filledFields(type, depth).flatMap(({ name, resolvedType: inner }) =>
      isMessage(inner) ? [name, ...namesIn(inner, depth - 1)] : [name],
    ),
  );
}

/** All that are described. */
export function describedNames(): readonly string[] {
  return servicesIn(rootOf()).flatMap(({ methodsArray }) =>
    methodsArray.map((method) => method.resolve().fullName),
  );
}

/** Other names, queues and bytes than a worker sends. */
export function oddCalls(aim: Aim): readonly HostileCall[] {
  const { namespace, thief, victim, tokens, ownToken } = aim;
  const [token = new Uint8Array()] = tokens;
  const {
    PollActivityTaskQueueRequest,
    RecordActivityTaskHeartbeatRequest,
    RespondActivityTaskCompletedRequest,
    ShutdownWorkerRequest,
  } = temporal.api.workflowservice.v1;
  const base = `/${WORKFLOW_SERVICE.slice(1)}`;
  const poll = (queue: object, more: object = {}): Uint8Array =>
    PollActivityTaskQueueRequest.encode({ namespace, taskQueue: queue, ...more }).finish();
  const own = poll({ name: `host/${thief}` });
  const pollPath = `${base}/PollActivityTaskQueue`;
  const named = (
    name: string,
    refusal: Refusal,
    { path = pollPath, body = framed(own), headers = {} }: Partial<HostileCall> = {},
  ): HostileCall => ({ name, path, body, headers, refusal });
  const queues = [
    { name: `host/${victim}` },
    { name: `host/${thief}/../${victim}` },
    { name: `host/${thief}\0` },
    { name: `HOST/${thief}` },
    { name: 'host/' },
    { name: '' },
    { name: 'slipway' },
    { name: 'slipway/step' },
    { name: `/_sys/host/${victim}/1` },
  ];
  const gzip = { 'grpc-encoding': 'gzip' };
  return [
    ...UNDESCRIBED.map((path) => named(path, UNKNOWN, { path: `/${path}` })),
    ...queues.map((queue) =>
      named(`poll ${JSON.stringify(queue)}`, OTHER_QUEUE, { body: framed(poll(queue)) }),
    ),
    // The last of two fields counts: both are of the same message.
    named('poll with two queues', OTHER_QUEUE, {
      body: framed(Buffer.concat([own, poll({ name: `host/${victim}` })])),
    }),
    // Of its own queue and task.
    named('poll of another namespace', OTHER_NAMESPACE, {
      body: framed(poll({ name: `host/${thief}` }, { namespace: OTHER })),
    }),
    named('end of a worker in another namespace', OTHER_NAMESPACE, {
      path: `${base}/ShutdownWorker`,
      body: framed(
        ShutdownWorkerRequest.encode({ namespace: OTHER, taskQueue: `host/${thief}` }).finish(),
      ),
    }),
    named('heartbeat in another namespace', OTHER_NAMESPACE, {
      path: `${base}/RecordActivityTaskHeartbeat`,
      body: framed(
        RecordActivityTaskHeartbeatRequest.encode({
          namespace: OTHER,
          taskToken: ownToken,
        }).finish(),
      ),
    }),
    ...[
      `${pollPath}/`,
      `/${pollPath}`,
      pollPath.toLowerCase(),
      `${base}/./PollActivityTaskQueue`,
      `${base}/%50ollActivityTaskQueue`,
      `${base}/PollActivityTaskQueue?x=1`,
      `${base}/constructor`,
      `${base}/__proto__`,
      `${base}/toString`,
      `${base}/`,
      '/',
      `/${'x'.repeat(8_000)}`,
    ].map((path) => named(`path ${path.slice(0, 40)}`, UNKNOWN, { path })),
    named('HTTP API', NO_POST, {
      path: '/api/v1/namespaces',
      body: new Uint8Array(),
      headers: { ':method': 'GET' },
    }),
    named('GET', NO_POST, { body: new Uint8Array(), headers: { ':method': 'GET' } }),
    named('JSON', NO_GRPC, {
      body: Buffer.from('{}'),
      headers: { 'content-type': 'application/json' },
    }),
    named('gRPC-Web', NO_GRPC, { headers: { 'content-type': 'application/grpc-web+proto' } }),
    named('no message', NOT_WHOLE, { body: new Uint8Array() }),
    named('half a prefix', NOT_WHOLE, { body: Buffer.of(0, 0) }),
    named('a longer message than said', NOT_WHOLE, {
      body: Buffer.concat([framed(own), Buffer.of(1)]),
    }),
    named('a shorter message than said', NOT_WHOLE, { body: framed(own).subarray(0, -1) }),
    named('two messages', NOT_WHOLE, { body: Buffer.concat([framed(own), framed(own)]) }),
    named('4 GiB, it says', NOT_WHOLE, { body: Buffer.of(0, 255, 255, 255, 255) }),
    named('no such compression', NO_ENCODING, {
      body: framed(own, 1),
      headers: { 'grpc-encoding': 'snappy' },
    }),
    named('a flag that is none', NO_ENCODING, { body: framed(own, 7) }),
    named('not compressed', NOT_INFLATED, { body: framed(own, 1), headers: gzip }),
    named('no protobuf', NOT_THIS_CALL, { body: framed(Buffer.alloc(4096, 0xff)) }),
    named('a bomb', TOO_LARGE, {
      body: framed(gzipSync(Buffer.alloc(64 * 1024 * 1024)), 1),
      headers: gzip,
    }),
    named('8 MiB', TOO_LARGE, { body: framed(Buffer.alloc(8 * 1024 * 1024)) }),
    named('causes without end', NOT_THIS_CALL, {
      path: `${base}/RespondActivityTaskFailed`,
      body: framed(nested(token, 20_000)),
    }),
    named('a million payloads', NOT_THIS_CALL, {
      path: `${base}/RespondActivityTaskCompleted`,
      body: framed(gzipSync(payloadsWithoutEnd(token)), 1),
      headers: gzip,
    }),
    named('a token with the name of the victim', OTHER_TASK, {
      path: `${base}/RespondActivityTaskCompleted`,
      body: framed(
        RespondActivityTaskCompletedRequest.encode({
          namespace,
          taskToken: token,
          identity: `slipway-host@${victim}`,
        }).finish(),
      ),
    }),
  ];
}

/** RespondActivityTaskCompletedRequest.result is field 2, and each of its payloads is empty. */
function payloadsWithoutEnd(token: Uint8Array): Uint8Array {
  const { RespondActivityTaskCompletedRequest } = temporal.api.workflowservice.v1;
  const head = RespondActivityTaskCompletedRequest.encode({ taskToken: token }).finish();
  const payloads = Buffer.alloc(2_000_000, Buffer.of(0x0a, 0));
  return Buffer.concat([head, Buffer.of(0x12), varint(payloads.length), payloads]);
}

/** Failure.cause is field 4; the bytes are made from the inside to the outside. */
function nested(token: Uint8Array, depth: number): Uint8Array {
  const { RespondActivityTaskFailedRequest } = temporal.api.workflowservice.v1;
  const head = RespondActivityTaskFailedRequest.encode({ taskToken: token }).finish();
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = 0; at < depth; at += 1) {
    const prefix = Buffer.concat([Buffer.of(0x22), varint(length)]);
    parts.unshift(prefix);
    length += prefix.length;
  }
  return Buffer.concat([head, Buffer.of(0x12), varint(length), ...parts]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 128);
  bytes.push(left);
  return Buffer.from(bytes);
}

function rootOf(): NamespaceBase {
  const { WorkflowService } = temporal.api.workflowservice.v1;
  return (WorkflowService as unknown as Service).root;
}

function servicesIn(within: NamespaceBase): readonly Service[] {
  return within.nestedArray.flatMap((entry) => {
    if ('methodsArray' in entry) return [entry as Service];
    return 'nestedArray' in entry ? servicesIn(entry as NamespaceBase) : [];
  });
}

function requestOf(method: Method): Type {
  const { resolvedRequestType } = method.resolve() as Method;
  if (resolvedRequestType === null) throw new Error(`${method.name} has no request`);
  return resolvedRequestType;
}

function describedCall(service: Service, method: Method, aim: Filling): HostileCall {
  const isOfNamespace = method.fullName === OF_OWN_NAMESPACE;
  const namespace = isOfNamespace ? OTHER : aim.namespace;
  const type = requestOf(method);
  const message = type.create(fieldsOf(type, { ...aim, namespace }, MAX_DEPTH));
  const allowed = service.fullName === WORKFLOW_SERVICE ? REFUSAL_OF[method.name] : undefined;
  return {
    name: method.fullName.slice(1),
    path: `/${service.fullName.slice(1)}/${method.name}`,
    body: framed(type.encode(message).finish()),
    refusal: allowed ?? UNKNOWN,
  };
}

const MAX_DEPTH = 3;

/** A namespace that every Temporal server may have, and no host. */
const OTHER = 'default';

interface Filling extends Omit<Aim, 'tokens' | 'targets'> {
  readonly token: Uint8Array;
  readonly target: Target;
}

/** Every field has a value, so that no call is refused for lack of one. */
function fieldsOf(type: Type, aim: Filling, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    filledFields(type, depth).map((field) => {
      const value = valueOf(field, aim, depth);
      return [field.name, field.repeated ? [value] : value];
    }),
  );
}

function filledFields(type: Type, depth: number): readonly Field[] {
  return type.fieldsArray.filter((field) => {
    const { resolvedType: inner, map } = field.resolve();
    return !map && !(isMessage(inner) && depth === 0) && isFirstOfGroup(field);
  });
}

function isMessage(type: Field['resolvedType']): type is Type {
  return type !== null && 'fieldsArray' in type;
}

/** Of a oneof, one field is set. */
function isFirstOfGroup({ partOf, name }: Field): boolean {
  return partOf === null || partOf.oneof[0] === name;
}

function valueOf(field: Field, aim: Filling, depth: number): unknown {
  const { resolvedType: inner, name, type } = field;
  if (isMessage(inner)) return fieldsOf(inner, aim, depth - 1);
  if (inner !== null) return Object.values(inner.values).at(-1);
  if (type === 'bytes') return aim.token;
  if (type === 'bool') return true;
  if (type === 'string') return textOf(name, aim);
  return 1;
}

function textOf(field: string, { namespace, victim, target }: Filling): string {
  if (/namespace/i.test(field)) return namespace;
  if (field === 'workflowId') return target.workflowId;
  if (field === 'activityId') return target.activityId;
  // The present run of it.
  if (/runId$/i.test(field)) return '';
  return field === 'identity' ? `slipway-host@${victim}` : `host/${victim}`;
}

/** A poll that passes ends soon, and is named. */
const PATIENCE: OutgoingHttpHeaders = { 'grpc-timeout': '2S' };

interface PassedCall {
  readonly name: string;
  readonly answer: Omit<CallAnswer, 'message'>;
}

/** Calls that were not refused as they should be; another session is opened where one was closed. */
export async function passingCalls(
  calls: readonly HostileCall[],
  open: () => Promise<ClientHttp2Session>,
): Promise<readonly PassedCall[]> {
  const passed: PassedCall[] = [];
  let session = await open();
  for (const { name, path, body, headers, refusal } of calls) {
    const ask = async (): Promise<CallAnswer> => {
      if (session.closed || session.destroyed) session = await open();
      return call(session, path, body, { ...PATIENCE, ...headers });
    };
    let answer = await ask();
    // The limit of calls of one host is not what is tried here: it waits as long as it is told to.
    for (let seconds = waitOf(answer); seconds > 0; seconds = waitOf(answer)) {
      await delay(seconds * 1_000);
      answer = await ask();
    }
    const { http, code, text } = answer;
    if (!isRefused(answer, refusal)) passed.push({ name, answer: { http, code, text } });
  }
  session.close();
  return passed;
}

/** Seconds; 0 = it was not for the limit that the call was refused. */
function waitOf({ code, text }: CallAnswer): number {
  return code === 8
    ? Number(/^host \S+ makes too many calls; wait (\d+) s$/.exec(text)?.[1] ?? 0)
    : 0;
}

function isRefused({ http, code, text, message }: CallAnswer, refusal: Refusal): boolean {
  if (message.length > 0) return false;
  if (refusal.code === undefined) return http === refusal.http && code === undefined;
  return http === 200 && code === refusal.code && refusal.text.test(text);
}
