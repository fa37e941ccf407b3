/**
 * Every time limit of every activity, in one place, and what a cancellation waits for: operational
 * tuning never touches logic.
 *
 * A host queue has one machine behind it, so each host activity says how long that machine may be
 * away (`pickUp`), how long one attempt may take, and when the whole step is given up (`total`, over
 * all attempts). Heartbeats tell a dead machine from a slow one. What is retried and what is not
 * follows from the kind of the failure (`core/errors.ts`), decided where it is thrown.
 */

import type {
  ActivityCancellationType,
  ActivityOptions,
  LocalActivityOptions,
} from '@temporalio/workflow';
import { shortLine } from '../../core/encoding/one-line';
import type { ResolvedPolicy } from '../../core/pool/types';
import type { ClusterActivities } from './cluster';
import type { HostActivities } from './host';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

/** Seconds. */
export interface Limits {
  readonly pickUp?: number;
  readonly attempt: number;
  readonly total: number;
  readonly heartbeat?: number;
  readonly maximumAttempts?: number;
  /** Failures that are given up here although they could be waited for. */
  readonly giveUpOn?: readonly string[];
  /** Absent = `GONE_ON`: what is cancelled may still be at work. */
  readonly cancellationType?: ActivityCancellationType;
}

/**
 * Who cancels goes on at once, whatever the attempt still does. The SDK takes this, too, for a step that
 * says nothing, so every step says it. Right for steps that only look, and for hosts: a host takes one
 * order at a time, so what takes a step back comes after it, and it drops an order that turns up late.
 */
export const GONE_ON = 'TRY_CANCEL' satisfies ActivityCancellationType;

/**
 * Who cancels goes on when no attempt is under way any more: for steps in the cluster whose effect would
 * come after what takes it back, since nothing puts the two in a row.
 */
export const AWAITED = 'WAIT_CANCELLATION_COMPLETED' satisfies ActivityCancellationType;

type PolicyTimes = Pick<
  ResolvedPolicy,
  'drain' | 'rebootTimeoutSeconds' | 'readySeconds' | 'reconnectSeconds'
>;

/** Limits of the host activities; `away` is how long a host may be out of reach. */
export function hostLimits(policy: PolicyTimes): Readonly<Record<keyof HostActivities, Limits>> {
  const away = Math.max(1, policy.reconnectSeconds);
  const reboot = Math.max(1, policy.rebootTimeoutSeconds);
  const step = { pickUp: away, heartbeat: 30 };
  // After a reboot that cut the network, the host goes back by itself after `away` and boots again.
  const back = { pickUp: away + reboot, heartbeat: 30 };
  return {
    prepareUpdate: { ...step, attempt: 30 * MINUTE, total: away + HOUR },
    applyUpdate: { ...step, attempt: 30 * MINUTE, total: away + 45 * MINUTE },
    performServiceActions: { ...step, attempt: 10 * MINUTE, total: away + 15 * MINUTE },
    // A busy operating system is waited for five minutes.
    armReboot: { ...step, attempt: 6 * MINUTE, total: away + 5 * MINUTE },
    // Also the time for the machine to come back: a poll while it boots is `NotYetRebooted`.
    verifyUpdate: { pickUp: reboot, heartbeat: 30, attempt: 10 * MINUTE, total: reboot },
    commitUpdate: commitLimits(policy),
    goBack: { ...back, attempt: 30 * MINUTE, total: away + reboot + 45 * MINUTE },
    verifyBack: { ...back, attempt: 10 * MINUTE, total: away + reboot },
    discardStaged: {
      pickUp: Math.min(away, MINUTE),
      heartbeat: 30,
      attempt: 5 * MINUTE,
      total: 10 * MINUTE,
      maximumAttempts: 3,
    },
  };
}

type NodeActivity = Exclude<keyof ClusterActivities, 'showRebooting' | 'showGoingBack'>;

/** Limits of the cluster activities. A Kubernetes API server may be away for a long time. */
export function clusterLimits(policy: PolicyTimes): Readonly<Record<NodeActivity, Limits>> {
  const drain = policy.drain.timeoutSeconds;
  const ready = readyWithin(policy);
  return {
    // It waits for as long as it takes; what it waits for is in its heartbeat. A cancellation waits until no
    // attempt is under way any more. A cordon of a person means hands off.
    takeOutOfService: {
      attempt: YEAR,
      total: YEAR,
      heartbeat: 15,
      giveUpOn: ['CordonedByUser'],
      cancellationType: AWAITED,
    },
    cordonAgain: {
      attempt: 30,
      total: HOUR,
      giveUpOn: ['CordonedByUser'],
      cancellationType: AWAITED,
    },
    // No pod is evicted from a node that was given back, nor under a cordon that a person took over. It
    // hears of a cancellation within five seconds; one whose worker died is over when its heartbeats are missed.
    drainNode: {
      attempt: drain + 5 * MINUTE,
      total: drain + 10 * MINUTE,
      heartbeat: 15,
      giveUpOn: ['CordonedByUser'],
      cancellationType: AWAITED,
    },
    // Only looks. What came before a person cordoned the node stays there, however long they are waited for.
    checkCordon: { attempt: 30, total: HOUR, giveUpOn: ['CordonedByUser'] },
    // Only looks, and counts the node's own time itself, from one attempt to the next: an outage of the API server
    // costs it none. So the total only ends who cannot see the node for a day.
    awaitReturn: { attempt: ready + 5 * MINUTE, total: ready + 24 * HOUR, heartbeat: 30 },
    // Retried until they hold: a node must not stay behind half done because of an outage. Only the end of
    // their Node cancels them.
    completeNode: { attempt: 30, total: 24 * HOUR },
    releaseNode: { attempt: 30, total: 24 * HOUR },
    whyCancelled: { attempt: 5, total: 10 },
  };
}

/**
 * What is only shown holds up the next step for no longer than this, and no cancellation: it is written
 * only over what was known when it began.
 */
export const SHOWN: LocalActivityOptions = {
  startToCloseTimeout: '2s',
  scheduleToCloseTimeout: '2s',
  retry: { maximumAttempts: 1 },
  cancellationType: GONE_ON,
};

/** The commit while the node waits for it out of service: a moment, unless the host has just gone. */
function commitLimits({ reconnectSeconds }: PolicyTimes): Limits {
  const total = Math.min(30, Math.max(1, reconnectSeconds));
  return { heartbeat: 10, attempt: total, total };
}

/** A node may become Ready at the end of its time, and has to stay so then. */
function readyWithin({ readySeconds, reconnectSeconds }: PolicyTimes): number {
  return 2 * readySeconds + reconnectSeconds;
}

/**
 * From a proof to the commit, as a rule. For longer only while the API server is away, which costs a node none of its time, and then the
 * host takes its proof for the decision.
 */
export function commitWithinSeconds(policy: PolicyTimes): number {
  return readyWithin(policy) + 10 * MINUTE;
}

/**
 * A kubelet that falls silent leaves its node Ready for 50 s (`node-monitor-grace-period` since Kubernetes 1.32, before
 * it 40 s), and as long as the controller takes to see that.
 */
export const SILENT_KUBELET_SECONDS = 60;

/** Clocks of hosts may differ by this much before an order counts as expired. */
export const CLOCK_SKEW_SECONDS = 5 * MINUTE;

/** Turns limits into what the SDK takes, with the sentence that the Temporal UI shows. */
export function optionsFor(limits: Limits, summary: string): ActivityOptions {
  return {
    summary: brief(summary),
    startToCloseTimeout: `${limits.attempt}s`,
    scheduleToCloseTimeout: `${limits.total}s`,
    cancellationType: limits.cancellationType ?? GONE_ON,
    ...(limits.pickUp === undefined ? {} : { scheduleToStartTimeout: `${limits.pickUp}s` }),
    ...(limits.heartbeat === undefined ? {} : { heartbeatTimeout: `${limits.heartbeat}s` }),
    retry: {
      initialInterval: '1s',
      backoffCoefficient: 2,
      maximumInterval: '20s',
      ...(limits.maximumAttempts === undefined ? {} : { maximumAttempts: limits.maximumAttempts }),
      ...(limits.giveUpOn === undefined ? {} : { nonRetryableErrorTypes: [...limits.giveUpOn] }),
    },
  };
}

/** Of the 400 bytes that the server takes some are for the payload around the text, and for a codec. */
const SUMMARY = { characters: 120, jsonBytes: 320 };

/**
 * Summaries are short. With a longer one the server refuses a start, and may refuse any other step: a
 * workflow task with it would fail every time.
 */
export function brief(text: string): string {
  return shortLine(text, SUMMARY);
}
