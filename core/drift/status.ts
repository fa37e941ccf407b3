/** Drift as shown on a MachineConfigNode, and its effect on the state of a Node. */

import { cut } from '../encoding/one-line';
import { fewSentences } from '../few';
import { updatersShown } from '../machine/updaters';
import { ANNOTATION, NodeCondition, NodeState } from '../names';
import { annotationOf, currentConfigOf, desiredConfigOf } from '../node/predicates';
import type { MachineConfigNode, MachineConfigNodeDrift, Node } from '../node/types';
import type { Condition } from '../object-meta';
import { type DriftReport, VERSION_LIMIT } from './report';

/** The start of every reason of drift, in MCO's words. */
const UNEXPECTED_STATE = 'unexpected on-disk state validating against ';
const FORCED = 'a full re-apply is requested by /run/machine-config-daemon-force; start it with ';

/** The part of a MachineConfigNode's status that the host's reports fill. */
export interface DriftStatus {
  readonly condition: Condition;
  readonly drift: MachineConfigNodeDrift;
  /** Absent = there is no other updater. */
  readonly updaters?: Condition;
  /** Absent = the host did not say. */
  readonly hostWorker?: { readonly version: string };
}

/**
 * The condition and the list for a report.
 *
 * @param previous - the present condition, for its transition time
 * @param now - RFC 3339
 */
export function driftStatus(
  node: string,
  report: DriftReport,
  previous: Condition | undefined,
  now: string,
): DriftStatus {
  const value = conditionValue(node, report);
  const lastTransitionTime =
    previous?.status === value.status ? (previous.lastTransitionTime ?? now) : now;
  const { config, count, findings, repairs, forced, unrepaired, version } = report;
  return {
    ...(version === undefined ? {} : { hostWorker: { version } }),
    condition: { type: NodeCondition.DRIFTED, ...value, lastTransitionTime },
    drift: fitting({
      config,
      count,
      findings,
      repairs,
      forced,
      ...(unrepaired === undefined ? {} : { unrepaired }),
    }),
  };
}

/** Of the message of a condition, in characters, without the version of the host worker. */
const MESSAGE_LIMIT = 32_768 - 2 * VERSION_LIMIT;

/** Without its last findings, where the whole report would be too long for the message of a condition. */
function fitting(drift: MachineConfigNodeDrift): MachineConfigNodeDrift {
  if (JSON.stringify(drift).length <= MESSAGE_LIMIT || drift.findings.length === 0) return drift;
  return fitting({ ...drift, findings: drift.findings.slice(0, -1) });
}

/**
 * Whether the MachineConfigNode shows the report already. A report without drift is no news,
 * whatever its config; but the first report of a node without a config names the config that it
 * came with.
 */
export function isShown(
  known: MachineConfigNode,
  wanted: DriftStatus,
  { hasConfig }: { readonly hasConfig: boolean },
): boolean {
  if (updatersShown(known)?.message !== wanted.updaters?.message) return false;
  if (known.status?.hostWorker?.version !== wanted.hostWorker?.version) return false;
  const condition = driftCondition(known);
  const before = condition && { condition, drift: known.status?.drift };
  if (hasConfig && isCalm(before) && isCalm(wanted)) return true;
  if (condition === undefined) return false;
  return (
    condition.status === wanted.condition.status &&
    condition.reason === wanted.condition.reason &&
    condition.message === wanted.condition.message &&
    sameDrift(known.status?.drift, wanted.drift)
  );
}

/** No drift, and no recent repairs; also true before any report. */
function isCalm(
  status: { condition: Condition; drift: DriftStatus['drift'] | undefined } | undefined,
) {
  return (
    status === undefined ||
    (status.condition.status === 'False' && (status.drift?.repairs ?? []).length === 0)
  );
}

/** Compared by field: the API server sorts the keys of what it stores. */
function sameDrift(
  known: MachineConfigNodeDrift | undefined,
  wanted: MachineConfigNodeDrift,
): boolean {
  if (known === undefined) return false;
  const lines = ({
    config,
    count,
    findings,
    repairs,
    forced,
    unrepaired,
  }: MachineConfigNodeDrift) =>
    JSON.stringify([
      [config, count, forced, unrepaired ?? ''],
      findings.map(({ path, kind, detail, since }) => [path, kind, detail, since]),
      repairs.map(({ path, at }) => [path, at]),
    ]);
  return lines(known) === lines(wanted);
}

function conditionValue(
  node: string,
  report: DriftReport,
): Pick<Condition, 'status' | 'reason' | 'message'> {
  const [first] = report.findings;
  if (first !== undefined) {
    const told = fewSentences([first.detail], { total: report.count });
    const why = report.unrepaired === undefined ? '' : `; ${report.unrepaired}`;
    const message = `${UNEXPECTED_STATE}${report.config}: ${told}${why}`;
    return { status: 'True', reason: 'ConfigDrift', message };
  }
  if (report.forced) {
    const message = `${FORCED}slipway node retry ${node}`;
    return { status: 'True', reason: 'ForceRequested', message };
  }
  return {
    status: 'False',
    reason: 'AsExpected',
    message: 'the disk matches its config',
  };
}

/** The condition of the host's reports; undefined = it never drifted. */
export function driftCondition(
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  return known?.status?.conditions?.find(({ type }) => type === NodeCondition.DRIFTED);
}

type DriftAnnotations = Readonly<Record<string, string>>;

/** The `reason` annotation is cut as in MCO. */
const MAX_REASON_LENGTH = 2000;

/**
 * The annotations that drift of a Node at rest requires; undefined = it has them. A node under
 * update is left to its update, and another failure keeps its reason.
 *
 * - drifted and Done → Degraded, with the first finding
 * - Degraded by drift, and without drift → Done; an update that was refused for it is a candidate
 *   again
 *
 * @see MCO pkg/daemon/daemon.go, startConfigDriftMonitor (7ff337a4)
 */
export function driftAnnotations(
  node: Node,
  known: Pick<MachineConfigNode, 'status'> | undefined,
): DriftAnnotations | undefined {
  const condition = driftFromCurrent(node, known);
  const current = currentConfigOf(node);
  if (condition === undefined || current === undefined || known === undefined) return undefined;
  const state = annotationOf(node, ANNOTATION.STATE);
  const reason = annotationOf(node, ANNOTATION.REASON) ?? '';
  const isOurs = state === NodeState.DEGRADED && isDriftReason(reason);
  if (condition.status === 'True') {
    const wanted = cut(condition.message, MAX_REASON_LENGTH);
    const isAtRest = desiredConfigOf(node) === current;
    if (!isAtRest || !(state === NodeState.DONE || isOurs)) return undefined;
    if (state === NodeState.DEGRADED && reason === wanted) return undefined;
    return { [ANNOTATION.STATE]: NodeState.DEGRADED, [ANNOTATION.REASON]: wanted };
  }
  if (!isOurs || !isNewerThanFailure(known, condition)) return undefined;
  return {
    [ANNOTATION.DESIRED_CONFIG]: current,
    [ANNOTATION.STATE]: NodeState.DONE,
    [ANNOTATION.REASON]: '',
  };
}

/** The report about the node's currentConfig; undefined = none, or about another config. */
function driftFromCurrent(
  node: Node,
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  const current = currentConfigOf(node);
  const isOfCurrent = current !== undefined && known?.status?.drift?.config === current;
  return isOfCurrent ? driftCondition(known) : undefined;
}

/** Reasons of the `Drifted` condition that make a node at rest Degraded. */
const DRIFT_REASONS: readonly string[] = ['ConfigDrift', 'ForceRequested'];

/**
 * The NodeDegraded condition that drift of a node at rest requires; undefined = it has it. It
 * follows the state of the Node. Its transition time is that of the host's report, so that all
 * times come from one clock.
 */
export function driftDegradation(
  node: Node,
  known: Pick<MachineConfigNode, 'status'> | undefined,
): Condition | undefined {
  const drifted = driftFromCurrent(node, known);
  if (drifted === undefined || known === undefined) return undefined;
  if (desiredConfigOf(node) !== currentConfigOf(node)) return undefined;
  const type = NodeCondition.NODE_DEGRADED;
  const before = known.status?.conditions?.find((condition) => condition.type === type);
  const state = annotationOf(node, ANNOTATION.STATE);
  const isSaid = before?.status === 'True';
  const { reason, message, lastTransitionTime } = drifted;
  const since = lastTransitionTime === undefined ? {} : { lastTransitionTime };
  if (state === NodeState.DEGRADED && drifted.status === 'True') {
    const isDrift = isDriftReason(annotationOf(node, ANNOTATION.REASON) ?? '');
    if (!isDrift || (isSaid && before.message === message)) return undefined;
    return { type, status: 'True', reason, message, ...since };
  }
  if (state !== NodeState.DONE || drifted.status === 'True') return undefined;
  // Also the reason of an update that was refused for drift.
  const wasDrift =
    isSaid && (DRIFT_REASONS.includes(before.reason) || isDriftReason(before.message));
  // The Node may be older than the refusal.
  if (!wasDrift || !isNewerThanFailure(known, drifted)) return undefined;
  return { type, status: 'False', reason, message, ...since };
}

/**
 * A failure or refusal that is newer than the last report of its host waits for the next report.
 */
export function isNewerThanFailure(
  known: Pick<MachineConfigNode, 'status'>,
  drifted: Condition,
): boolean {
  const refused = known.status?.conditions?.find(
    ({ type, status }) => type === NodeCondition.NODE_DEGRADED && status === 'True',
  );
  return (
    refused === undefined ||
    Date.parse(drifted.lastTransitionTime ?? '') >= Date.parse(refused.lastTransitionTime ?? '')
  );
}

/** Also the reason of an update that was refused because of drift: `ConfigDrift: unexpected …`. */
export function isDriftReason(reason: string): boolean {
  const text = reason.startsWith('ConfigDrift: ') ? reason.slice('ConfigDrift: '.length) : reason;
  return text.startsWith(UNEXPECTED_STATE) || text.startsWith(FORCED);
}
