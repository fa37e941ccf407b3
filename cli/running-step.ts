import type { WorkflowExecutionDescription } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { optionalTsToMs } from '@temporalio/common/lib/time';
import { isRecord } from '../core/is-record';
import { HOST_STEPS } from '../workflows/contracts/host';

export interface RunningStep {
  /** RFC 3339: when its update began. */
  readonly since?: string;
  /** From its heartbeat: a path, an image with its progress, or the subject of a wait. */
  readonly says?: string;
  readonly attempt: number;
  readonly lastFailure?: string;
  readonly blocker?: string;
}

type Described = Pick<WorkflowExecutionDescription, 'raw'> & {
  readonly status?: { readonly name: string };
};
type Activity = NonNullable<Described['raw']['pendingActivities']>[number];

/**
 * Undefined between two steps.
 *
 * @param nowMs - a step that was scheduled a moment ago has no blocker yet
 */
export function stepOf({ raw, status }: Described, nowMs: number): RunningStep | undefined {
  const isPaused = status?.name === 'PAUSED';
  // Two may run side by side.
  const activities = raw.pendingActivities ?? [];
  if (activities.length === 0) {
    return isPaused ? { attempt: 1, blocker: UPDATE_PAUSED } : undefined;
  }
  const says = joined(activities, (one) => heartbeatText(one.heartbeatDetails?.payloads?.[0]));
  const lastFailure = joined(activities, (one) => failureText(one.lastFailure));
  const blocker = isPaused ? UPDATE_PAUSED : joined(activities, (one) => blockerOf(one, nowMs));
  return {
    attempt: Math.max(...activities.map(({ attempt }) => attempt ?? 1)),
    ...(says === undefined ? {} : { says }),
    ...(lastFailure === undefined ? {} : { lastFailure }),
    ...(blocker === undefined ? {} : { blocker }),
  };
}

function joined(
  activities: readonly Activity[],
  textOf: (activity: Activity) => string | null | undefined,
): string | undefined {
  const texts = activities.flatMap((activity) => textOf(activity) ?? []);
  return texts.length === 0 ? undefined : texts.join('; ');
}

const UPDATE_PAUSED = 'its update is paused in Temporal';

/** `PENDING_ACTIVITY_STATE_SCHEDULED`: no worker has it. */
const SCHEDULED = 1;

/** A worker that polls picks a step up within this time. */
const PICKED_UP_WITHIN_MS = 3_000;

const NO_CLUSTER_WORKER = 'no cluster worker has picked it up yet';

/** None between two attempts. */
function blockerOf(activity: Activity, nowMs: number): string | undefined {
  if (activity.paused === true) return 'its step is paused in Temporal';
  const isBetweenAttempts = (activity.nextAttemptScheduleTime ?? undefined) !== undefined;
  if (isBetweenAttempts || !isLeftWaiting(activity, nowMs)) return undefined;
  const step = activity.activityType?.name ?? '';
  if (!HOST_STEPS.has(step)) return NO_CLUSTER_WORKER;
  // A rebooting host is away.
  return step === 'verifyUpdate'
    ? 'waiting for its host worker to come back'
    : 'its host worker has not picked it up yet';
}

function isLeftWaiting(
  { state, scheduledTime }: Pick<Activity, 'scheduledTime'> & { readonly state?: number | null },
  nowMs: number,
): boolean {
  const scheduledMs = optionalTsToMs(scheduledTime) ?? 0;
  return state === SCHEDULED && nowMs - scheduledMs >= PICKED_UP_WITHIN_MS;
}

/** What keeps a rollout from its next step; undefined = nothing does, or it waits for news. */
export function whyNoStep(described: Described, nowMs: number): string | undefined {
  const task = described.raw.pendingWorkflowTask ?? {};
  if (isLeftWaiting(task, nowMs)) return NO_CLUSTER_WORKER;
  const step = stepOf(described, nowMs);
  return (step && stepText(step)) || undefined;
}

/** Attempt, last failure and blocker. Empty when there is no news. */
export function stepText({ says, attempt, lastFailure, blocker }: RunningStep): string {
  const again =
    attempt > 1 ? `attempt ${attempt}${lastFailure === undefined ? '' : `, ${lastFailure}`}` : '';
  return [says ?? '', again, blocker ?? ''].filter((text) => text !== '').join('; ');
}

type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];

/** Where it was encoded, the message is among the attributes. */
function failureText(failure: Activity['lastFailure']): string | null | undefined {
  const attributes = failure?.encodedAttributes;
  if (attributes == null) return failure?.message;
  const said = decoded(attributes);
  return isRecord(said) && typeof said['message'] === 'string' ? said['message'] : undefined;
}

/** Only heartbeats of this project can be shown: `HostHeartbeat`, and those that name a blocker. */
function heartbeatText(payload: Payload | null | undefined): string | undefined {
  if (payload === null || payload === undefined) return undefined;
  const details: unknown = decoded(payload);
  if (typeof details !== 'object' || details === null) return undefined;
  if ('blocker' in details) return String(details.blocker);
  if (!('at' in details)) return undefined;
  const at = String(details.at);
  const pull = 'pull' in details ? pullText(details.pull) : undefined;
  return pull === undefined ? at : `${at}: ${pull}`;
}

/** Undefined for a payload of an unknown codec. */
function decoded(payload: Payload): unknown {
  const encoding = payload.metadata?.['encoding'];
  const isJson = encoding !== undefined && new TextDecoder().decode(encoding) === 'json/plain';
  return isJson ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

function pullText(pull: unknown): string | undefined {
  if (typeof pull !== 'object' || pull === null) return undefined;
  const number = (name: string): number | undefined => {
    const value: unknown = Object.entries(pull).find(([key]) => key === name)?.[1];
    return typeof value === 'number' ? value : undefined;
  };
  const bytes = number('bytes') ?? 0;
  const total = number('totalBytes');
  const layers = number('layers') ?? 0;
  const all = number('totalLayers');
  const amount =
    total === undefined ? megabytes(bytes) : `${megabytes(bytes)} of ${megabytes(total)}`;
  return `${amount}, ${all === undefined ? (layers === 1 ? '1 layer' : `${layers} layers`) : `layer ${layers} of ${all}`}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
