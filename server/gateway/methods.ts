/**
 * All that a host may ask Temporal for. Requests and answers are made anew of the fields that are
 * named here: nothing else passes.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { Reader } from 'protobufjs/light';
import { hostQueue, SIMULATED_HOST } from '../../core/names';
import { malformed } from './messages';
import type { PayloadGate } from './payloads';
import { GatewayRefusal, STATUS } from './refusal';
import { unwrapToken, wrapToken } from './task-tokens';
import type { TokenKeys } from './token-keys';

const v1 = temporal.api.workflowservice.v1;
const { TASK_QUEUE_KIND_NORMAL } = temporal.api.enums.v1.TaskQueueKind;
const { TASK_QUEUE_TYPE_ACTIVITY } = temporal.api.enums.v1.TaskQueueType;

export const SERVICE = 'temporal.api.workflowservice.v1.WorkflowService';

export interface HostCall {
  readonly host: string;
  readonly message: Uint8Array;
  /** Milliseconds since 1970: the host waits no longer. */
  readonly deadlineMs: number;
  /** The host has gone, or this process ends. */
  readonly signal: AbortSignal;
}

export interface Method {
  /** The longest that a call takes. */
  readonly mostMs: number;
  /** It waits for an order, and ends early with none. */
  readonly isPoll?: boolean;
  readonly answer: (call: HostCall) => Promise<Uint8Array>;
}

interface MethodDependencies {
  readonly temporal: Pick<ConnectionLike, 'workflowService' | 'withDeadline' | 'withAbortSignal'>;
  readonly namespace: string;
  readonly keys: TokenKeys;
  readonly payloads: PayloadGate;
  /** For tests. */
  readonly awayMs?: number;
}

/** The server answers a poll after a minute at most. */
const POLL_MS = 80_000;
const CALL_MS = 30_000;
/** After an absence, all polls come back within some of these. */
const AWAY_MS = 2_000;
/** Temporal refuses a poll that has less than two seconds, and a refused poll ends the worker of the host. */
const LEAST_POLL_MS = 10_000;
/** A key has 36 characters. */
const MAX_INSTANCE_KEY = 100;

/** By the name of the call in `SERVICE`. */
export function methodsOfHosts(
  dependencies: MethodDependencies,
): Readonly<Record<string, Method | undefined>> {
  const { namespace, keys, payloads, awayMs = AWAY_MS } = dependencies;
  const { temporal: link } = dependencies;
  const service = () => link.workflowService;

  /** Within the time and life of the host's call. */
  const within = <T>(call: HostCall, ask: () => Promise<T>): Promise<T> =>
    link.withAbortSignal(call.signal, () => link.withDeadline(call.deadlineMs, ask));

  function inOwnNamespace(asked: string): void {
    if (asked === namespace) return;
    throw denied('other-namespace', `hosts use the namespace ${namespace} only`);
  }

  function ownQueue(host: string, asked: string | null | undefined): string {
    const own = hostQueue(host);
    if (asked === own) return own;
    throw denied('other-queue', `host ${host} has the task queue ${own} only`);
  }

  function handedTask(call: HostCall, request: TaskAnswer) {
    inOwnNamespace(request.namespace);
    const { host } = call;
    const taskToken = unwrapToken(request.taskToken, host, keys);
    if (taskToken === undefined) {
      throw denied('other-task', `this task was not handed to host ${host}`);
    }
    return { taskToken, namespace, identity: identityOf(host, request.identity) };
  }

  async function poll(call: HostCall): Promise<Uint8Array> {
    const request = read(v1.PollActivityTaskQueueRequest, call.message);
    inOwnNamespace(request.namespace);
    const { host } = call;
    const name = ownQueue(host, request.taskQueue?.name);
    const task = await untilThere(call, () =>
      service().pollActivityTaskQueue({
        namespace,
        taskQueue: { name, kind: TASK_QUEUE_KIND_NORMAL },
        identity: identityOf(host, request.identity),
        workerInstanceKey: instanceOf(host, request.workerInstanceKey),
      }),
    );
    if (task === undefined || task.taskToken.length === 0) return NOTHING;
    return write(v1.PollActivityTaskQueueResponse, {
      taskToken: wrapToken(task.taskToken, host, keys),
      workflowNamespace: namespace,
      workflowType: task.workflowType ?? null,
      workflowExecution: task.workflowExecution ?? null,
      activityType: task.activityType ?? null,
      activityId: task.activityId,
      input: await payloads.decode(task.input),
      heartbeatDetails: await payloads.decode(task.heartbeatDetails),
      scheduledTime: task.scheduledTime ?? null,
      currentAttemptScheduledTime: task.currentAttemptScheduledTime ?? null,
      startedTime: task.startedTime ?? null,
      attempt: task.attempt,
      scheduleToCloseTimeout: task.scheduleToCloseTimeout ?? null,
      startToCloseTimeout: task.startToCloseTimeout ?? null,
      heartbeatTimeout: task.heartbeatTimeout ?? null,
    });
  }

  /** Undefined = the time is over. While Temporal is away, the host waits for it. */
  async function untilThere<T>(call: HostCall, ask: () => Promise<T>): Promise<T | undefined> {
    // The client of Temporal does not look at a signal that fired before its call.
    while (!call.signal.aborted) {
      try {
        return await within(call, ask);
      } catch (error) {
        if (call.signal.aborted || isOf(TIME_OVER, error)) return undefined;
        if (!isOf(AWAY, error)) throw error;
      }
      const pause = awayMs * (0.5 + Math.random());
      if (Date.now() + pause + LEAST_POLL_MS >= call.deadlineMs) return undefined;
      await delay(pause, undefined, { signal: call.signal }).catch(() => undefined);
    }
    return undefined;
  }

  return {
    GetSystemInfo: {
      mostMs: CALL_MS,
      async answer(call) {
        const { capabilities } = await within(call, () => service().getSystemInfo({}));
        return write(v1.GetSystemInfoResponse, { capabilities: capabilities ?? null });
      },
    },
    DescribeNamespace: {
      mostMs: CALL_MS,
      async answer(call) {
        inOwnNamespace(read(v1.DescribeNamespaceRequest, call.message).namespace);
        const { namespaceInfo } = await within(call, () =>
          service().describeNamespace({ namespace }),
        );
        // Without the other capabilities, workers send no reports about themselves, and take no commands.
        const { workerPollCompleteOnShutdown = false } = namespaceInfo?.capabilities ?? {};
        return write(v1.DescribeNamespaceResponse, {
          namespaceInfo: {
            name: namespace,
            state: namespaceInfo?.state ?? null,
            capabilities: { workerPollCompleteOnShutdown },
            limits: namespaceInfo?.limits ?? null,
          },
        });
      },
    },
    PollActivityTaskQueue: { mostMs: POLL_MS, isPoll: true, answer: poll },
    RespondActivityTaskCompleted: {
      mostMs: CALL_MS,
      async answer(call) {
        const request = read(v1.RespondActivityTaskCompletedRequest, call.message);
        const task = handedTask(call, request);
        const result = await payloads.encode(request.result);
        await within(call, () => service().respondActivityTaskCompleted({ ...task, result }));
        return NOTHING;
      },
    },
    RespondActivityTaskFailed: {
      mostMs: CALL_MS,
      async answer(call) {
        const request = read(v1.RespondActivityTaskFailedRequest, call.message);
        const task = handedTask(call, request);
        const failure = await payloads.encodeFailure(request.failure);
        const lastHeartbeatDetails = await payloads.encode(request.lastHeartbeatDetails);
        await within(call, () =>
          service().respondActivityTaskFailed({ ...task, failure, lastHeartbeatDetails }),
        );
        return NOTHING;
      },
    },
    RespondActivityTaskCanceled: {
      mostMs: CALL_MS,
      async answer(call) {
        const request = read(v1.RespondActivityTaskCanceledRequest, call.message);
        const task = handedTask(call, request);
        const details = await payloads.encode(request.details);
        await within(call, () => service().respondActivityTaskCanceled({ ...task, details }));
        return NOTHING;
      },
    },
    RecordActivityTaskHeartbeat: {
      mostMs: CALL_MS,
      async answer(call) {
        const request = read(v1.RecordActivityTaskHeartbeatRequest, call.message);
        const task = handedTask(call, request);
        const details = await payloads.encode(request.details);
        const { cancelRequested, activityPaused, activityReset } = await within(call, () =>
          service().recordActivityTaskHeartbeat({ ...task, details }),
        );
        return write(v1.RecordActivityTaskHeartbeatResponse, {
          cancelRequested,
          activityPaused,
          activityReset,
        });
      },
    },
    ShutdownWorker: {
      mostMs: CALL_MS,
      async answer(call) {
        const request = read(v1.ShutdownWorkerRequest, call.message);
        inOwnNamespace(request.namespace);
        const { host } = call;
        const taskQueue = ownQueue(host, request.taskQueue);
        await within(call, () =>
          service().shutdownWorker({
            namespace,
            identity: identityOf(host, request.identity),
            reason: 'the host worker stops',
            workerInstanceKey: instanceOf(host, request.workerInstanceKey),
            taskQueue,
            taskQueueTypes: [TASK_QUEUE_TYPE_ACTIVITY],
          }),
        );
        return NOTHING;
      },
    },
  };
}

const NOTHING = new Uint8Array();

/** Codes of Temporal that are no answer, and that waiting mends. */
const AWAY: readonly unknown[] = [STATUS.CANCELLED, STATUS.INTERNAL, STATUS.UNAVAILABLE];
const TIME_OVER: readonly unknown[] = [STATUS.DEADLINE_EXCEEDED];

function isOf(codes: readonly unknown[], error: unknown): boolean {
  return codes.includes((error as { readonly code?: unknown }).code);
}

interface TaskAnswer {
  readonly namespace: string;
  readonly taskToken: Uint8Array;
  readonly identity: string;
}

/** What Temporal shows. A simulated host may say that it is one. */
function identityOf(host: string, said: string): string {
  return said.startsWith(SIMULATED_HOST) ? `${SIMULATED_HOST}${host}` : `slipway-host@${host}`;
}

/** So that a host can end its own polls only. */
function instanceOf(host: string, key: string): string {
  return key === '' ? '' : `${host}/${key.slice(0, MAX_INSTANCE_KEY)}`;
}

function denied(
  reason: 'other-namespace' | 'other-queue' | 'other-task',
  message: string,
): GatewayRefusal {
  return new GatewayRefusal(STATUS.PERMISSION_DENIED, reason, message);
}

interface MessageType<Message, Fields> {
  readonly decode: (bytes: Reader) => Message;
  readonly encode: (fields: Fields) => { finish(): Uint8Array };
}

function read<Message>(
  type: Pick<MessageType<Message, never>, 'decode'>,
  bytes: Uint8Array,
): Message {
  try {
    return type.decode(new BoundedReader(bytes));
  } catch {
    // What the library says about strange bytes helps nobody.
    throw malformed('this is not the message of this call');
  }
}

/** An answer of a host has some tens. Without a limit, one small compressed message holds all others up for seconds. */
const MAX_FIELDS = 5_000;

class BoundedReader extends Reader {
  #left = MAX_FIELDS;

  override tag(): number {
    this.#left -= 1;
    if (this.#left < 0) throw new RangeError(`more than ${MAX_FIELDS} fields`);
    return super.tag();
  }
}

function write<Fields>(
  type: Pick<MessageType<never, Fields>, 'encode'>,
  fields: Fields,
): Uint8Array {
  return type.encode(fields).finish();
}
