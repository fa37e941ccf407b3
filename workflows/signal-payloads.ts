/**
 * What a signal brings, read before it is believed. Whoever reaches Temporal may send anything, and a
 * handler that throws fails the same workflow task again for good.
 */

import { log, setHandler, type SignalDefinition } from '@temporalio/workflow';
import { poolRolloutId } from '../core/names';
import type { PictureVersions } from './contracts/cluster';
import type { NodeReport, Prepared, Proceed } from './messages';

/** Kubernetes names are not longer; Temporal refuses IDs of more than 1000 characters. */
const LONGEST_NAME = 253;

const OUTCOMES = ['updated', 'failed', 'cancelled'] as const;
const DISRUPTIONS = ['none', 'services', 'drain', 'reboot'] as const;
const STAGES = ['preparing', 'waiting', 'working'] as const;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Registers a signal of which only well-formed payloads are heard. The others are logged by the name of
 * the signal, without the payload.
 */
export function hear<T>(
  signal: SignalDefinition<[T]>,
  read: (payload: unknown) => T | undefined,
  act: (payload: T) => void,
  description: string,
): void {
  setHandler(
    signal,
    (payload: unknown) => {
      const told = read(payload);
      if (told !== undefined) act(told);
      else log.warn('ignored a signal with a malformed payload', { signal: signal.name });
    },
    { description },
  );
}

/** Payload of `nodeFinished`; undefined = malformed, as of every function here. */
export function readNodeReport(payload: unknown): NodeReport | undefined {
  const fields = fieldsOf(payload);
  if (fields === undefined) return undefined;
  const { node, uid, config, outcome, phase, reason, failure, inServiceAt } = fields;
  const { runId, hostIsBack, isTriedAgain, stoppedByRollout, leftAt } = fields;
  const isReport =
    isName(node) &&
    isName(config) &&
    isOneOf(OUTCOMES, outcome) &&
    typeof runId === 'string' &&
    [uid, phase, reason, failure, inServiceAt, leftAt].every(isTextOrAbsent) &&
    (hostIsBack === undefined || hostIsBack === false) &&
    (isTriedAgain === undefined || typeof isTriedAgain === 'boolean') &&
    isTrueOrAbsent(stoppedByRollout) &&
    isPhases(fields['phases']) &&
    isOneOf(DISRUPTIONS, fields['disruption']) &&
    isInstant(fields['startedAt']) &&
    isInstant(fields['finishedAt']);
  return isReport ? (payload as NodeReport) : undefined;
}

/** Payload of `prepared`. */
export function readPrepared(payload: unknown): Prepared | undefined {
  const fields = fieldsOf(payload);
  if (fields === undefined) return undefined;
  const { node, uid, runId, config, holdsSlot, stage, returned, grantedAt } = fields;
  const { triedAgain } = fields;
  const isPrepared =
    isName(node) &&
    typeof runId === 'string' &&
    [uid, grantedAt].every(isTextOrAbsent) &&
    isName(config) &&
    typeof holdsSlot === 'boolean' &&
    isOneOf(STAGES, stage) &&
    [returned, triedAgain].every(isTrueOrAbsent);
  return isPrepared ? (payload as Prepared) : undefined;
}

/** Payload of `proceed`. */
export function readProceed(payload: unknown): Proceed | undefined {
  const { slot, repair, number, counts, pending, grantedAt } = fieldsOf(payload) ?? {};
  if (typeof slot !== 'string' || typeof repair !== 'boolean') return undefined;
  if (!isCount(number) || typeof grantedAt !== 'string') return undefined;
  if (!isListOrAbsent(counts) || !isListOrAbsent(pending)) return undefined;
  return {
    ...{ slot, repair, number, grantedAt },
    ...(counts === undefined ? {} : { counts }),
    ...(pending === undefined ? {} : { pending }),
  };
}

/** Payload of `attach`: what reports is told to a pool rollout and to nothing else. */
export function readAttach(payload: unknown): { readonly reportTo: string } | undefined {
  const { reportTo } = fieldsOf(payload) ?? {};
  const prefix = poolRolloutId('');
  if (typeof reportTo !== 'string' || !reportTo.startsWith(prefix)) return undefined;
  return isName(reportTo.slice(prefix.length)) ? { reportTo } : undefined;
}

/** Payload of `nodeGone` and of `stopping`. */
export function readReason(payload: unknown): { readonly reason: string } | undefined {
  const { reason } = fieldsOf(payload) ?? {};
  return typeof reason === 'string' ? { reason } : undefined;
}

/** Of `clusterChanged` and `retarget`, which count without it: then any picture will do. */
export function readVersions(payload: unknown): PictureVersions | undefined {
  const { nodes, pools, policies } = fieldsOf(fieldsOf(payload)?.['versions']) ?? {};
  const isWhole = isCount(nodes) && isCount(pools) && isCount(policies);
  return isWhole ? { nodes, pools, policies } : undefined;
}

function fieldsOf(payload: unknown): Fields | undefined {
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  return isObject ? (payload as Fields) : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;
}

function isTextOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isTrueOrAbsent(value: unknown): value is true | undefined {
  return value === undefined || value === true;
}

function isOneOf<T extends string>(values: readonly T[], value: unknown): value is T {
  return (values as readonly unknown[]).includes(value);
}

function isListOrAbsent(value: unknown): value is readonly string[] | undefined {
  return value === undefined || (Array.isArray(value) && value.every(isName));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isInstant(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

/** A phase that this version does not know is no reason to lose a report. */
function isPhases(value: unknown): value is NodeReport['phases'] {
  return (
    Array.isArray(value) &&
    value.every((item) => {
      const { phase, seconds } = fieldsOf(item) ?? {};
      return typeof phase === 'string' && Number.isFinite(seconds);
    })
  );
}
