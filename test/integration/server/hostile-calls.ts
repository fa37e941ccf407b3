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
}

/** Whom the stolen machine attacks, and with what. */
export interface Aim {
  readonly namespace: string;
  readonly victim: string;
  /** Of a task that was handed to the victim, as the victim got it, and as Temporal made it. */
  readonly tokens: readonly Uint8Array[];
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

/** Every call that is described, with every token: new ones are tried, too. */
export function describedCalls(aim: Aim): readonly HostileCall[] {
  const services = servicesIn(rootOf());
  return services.flatMap((service) =>
    service.methodsArray.flatMap((method) => {
      if (method.resolve().fullName === OPEN_TO_ALL) return [];
      const usesToken = requestOf(method).fieldsArray.some(({ name }) => name === 'taskToken');
      const tokens = usesToken ? aim.tokens : aim.tokens.slice(0, 1);
      return tokens.map((token) => describedCall(service, method, aim, token));
    }),
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
  const { namespace, victim, tokens } = aim;
  const [token = new Uint8Array()] = tokens;
  const { PollActivityTaskQueueRequest, RespondActivityTaskCompletedRequest } =
    temporal.api.workflowservice.v1;
  const base = `/${WORKFLOW_SERVICE.slice(1)}`;
  const poll = (queue: object, more: object = {}): Uint8Array =>
    PollActivityTaskQueueRequest.encode({ namespace, taskQueue: queue, ...more }).finish();
  const own = poll({ name: 'host/thief' });
  const named = (
    name: string,
    path: string,
    body: Uint8Array,
    headers: OutgoingHttpHeaders = {},
  ): HostileCall => ({ name, path, body, headers });
  const pollPath = `${base}/PollActivityTaskQueue`;
  const queues = [
    { name: `host/${victim}` },
    { name: `host/thief/../${victim}` },
    { name: 'host/thief\0' },
    { name: 'HOST/thief' },
    { name: 'host/' },
    { name: '' },
    { name: 'slipway' },
    { name: 'slipway/step' },
    { name: `/_sys/host/${victim}/1` },
  ];
  return [
    ...UNDESCRIBED.map((path) => named(path, `/${path}`, framed(own))),
    ...queues.map((queue) => named(`poll ${JSON.stringify(queue)}`, pollPath, framed(poll(queue)))),
    // The last of two fields counts: both are of the same message.
    named(
      'poll with two queues',
      pollPath,
      framed(Buffer.concat([own, poll({ name: `host/${victim}` })])),
    ),
    named(
      'poll of another namespace',
      pollPath,
      framed(poll({ name: 'host/thief' }, { namespace: 'default' })),
    ),
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
    ].map((path) => named(`path ${path.slice(0, 40)}`, path, framed(own))),
    named('HTTP API', '/api/v1/namespaces', new Uint8Array(), { ':method': 'GET' }),
    named('GET', pollPath, new Uint8Array(), { ':method': 'GET' }),
    named('JSON', pollPath, Buffer.from('{}'), { 'content-type': 'application/json' }),
    named('gRPC-Web', pollPath, framed(own), { 'content-type': 'application/grpc-web+proto' }),
    named('no message', pollPath, new Uint8Array()),
    named('half a prefix', pollPath, Buffer.of(0, 0)),
    named('a longer message than said', pollPath, Buffer.concat([framed(own), Buffer.of(1)])),
    named('a shorter message than said', pollPath, framed(own).subarray(0, -1)),
    named('two messages', pollPath, Buffer.concat([framed(own), framed(own)])),
    named('4 GiB, it says', pollPath, Buffer.of(0, 255, 255, 255, 255)),
    named('no such compression', pollPath, framed(own, 1), { 'grpc-encoding': 'snappy' }),
    named('a flag that is none', pollPath, framed(own, 7)),
    named('not compressed', pollPath, framed(own, 1), { 'grpc-encoding': 'gzip' }),
    named('no protobuf', pollPath, framed(Buffer.alloc(4096, 0xff))),
    named('a bomb', pollPath, framed(gzipSync(Buffer.alloc(64 * 1024 * 1024)), 1), {
      'grpc-encoding': 'gzip',
    }),
    named('8 MiB', pollPath, framed(Buffer.alloc(8 * 1024 * 1024))),
    named('causes without end', `${base}/RespondActivityTaskFailed`, framed(nested(token, 20_000))),
    named(
      'a million payloads',
      `${base}/RespondActivityTaskCompleted`,
      framed(gzipSync(payloadsWithoutEnd(token)), 1),
      { 'grpc-encoding': 'gzip' },
    ),
    named(
      'a token with the name of the victim',
      `${base}/RespondActivityTaskCompleted`,
      framed(
        RespondActivityTaskCompletedRequest.encode({
          namespace,
          taskToken: token,
          identity: `slipway-host@${victim}`,
        }).finish(),
      ),
    ),
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

function describedCall(service: Service, method: Method, aim: Aim, token: Uint8Array): HostileCall {
  const isOfNamespace = method.fullName === OF_OWN_NAMESPACE;
  const namespace = isOfNamespace ? 'default' : aim.namespace;
  const type = requestOf(method);
  const message = type.create(fieldsOf(type, { ...aim, namespace, token }, MAX_DEPTH));
  return {
    name: method.fullName.slice(1),
    path: `/${service.fullName.slice(1)}/${method.name}`,
    body: framed(type.encode(message).finish()),
  };
}

const MAX_DEPTH = 3;

type Filling = Omit<Aim, 'tokens'> & { readonly token: Uint8Array };

/** Every field has a value, so that no call is refused for lack of one. */
function fieldsOf(type: Type, aim: Filling, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    type.fieldsArray.flatMap((field) => {
      field.resolve();
      const isDeep = field.resolvedType !== null && 'fieldsArray' in field.resolvedType;
      if (field.map || (isDeep && depth === 0) || !isFirstOfGroup(field)) return [];
      const value = valueOf(field, aim, depth);
      return [[field.name, field.repeated ? [value] : value]];
    }),
  );
}

/** Of a oneof, one field is set. */
function isFirstOfGroup({ partOf, name }: Field): boolean {
  return partOf === null || partOf.oneof[0] === name;
}

function valueOf(field: Field, aim: Filling, depth: number): unknown {
  const { resolvedType: inner, name, type } = field;
  if (inner !== null && 'fieldsArray' in inner) return fieldsOf(inner, aim, depth - 1);
  if (inner !== null) return Object.values(inner.values).at(-1);
  if (type === 'bytes') return aim.token;
  if (type === 'bool') return true;
  if (type === 'string') return textOf(name, aim);
  return 1;
}

function textOf(field: string, { namespace, victim }: Filling): string {
  if (/namespace/i.test(field)) return namespace;
  return field === 'identity' ? `slipway-host@${victim}` : `host/${victim}`;
}

/** Calls that were not refused; another session is opened where one was closed. */
export async function passingCalls(
  calls: readonly HostileCall[],
  open: () => Promise<ClientHttp2Session>,
): Promise<readonly { readonly name: string; readonly answer: CallAnswer }[]> {
  const passed: { name: string; answer: CallAnswer }[] = [];
  let session = await open();
  for (const { name, path, body, headers } of calls) {
    if (session.closed || session.destroyed) session = await open();
    const answer = await call(session, path, body, headers);
    // The limit of calls of one host is not what is tried here.
    const isLimited = answer.text.includes('too many calls');
    if (isLimited) await delay(1_000);
    const last = isLimited ? await call(session, path, body, headers) : answer;
    if (!isRefused(last)) passed.push({ name, answer: last });
  }
  session.close();
  return passed;
}

function isRefused({ http, code }: CallAnswer): boolean {
  // A connection that was closed for it, a status of HTTP, or one of gRPC that is no success.
  return http === undefined || http >= 400 || (code !== undefined && code !== 0);
}
