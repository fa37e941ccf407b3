/**
 * Which pods a drain evicts, which it leaves alone, and which forbid it.
 *
 * Five filters look at each pod in a fixed order. A filter that wants to keep the pod, or to refuse the
 * drain, ends the matter; one that only warns lets the others speak too. A pod that no filter objects
 * to is evicted.
 *
 * @see kubectl pkg/drain/filters.go, whose order and rules these are. Two things differ: every warning
 * is kept, where kubectl shows the last filter's alone, and time comes in as an argument.
 */

import { controllerOf, isFinished, MIRROR_ANNOTATION, nameOf, type Pod } from './pods';

/** What a drain may do. */
export interface DrainOptions {
  /** Evict pods that nothing recreates, and pods of a DaemonSet that is gone. */
  readonly force: boolean;
  /** Leave pods of DaemonSets where they are; without it, they refuse the drain. */
  readonly ignoreAllDaemonSets: boolean;
  /** Evict pods that lose an `emptyDir` with it. */
  readonly deleteEmptyDirData: boolean;
  /** Absent = each pod's own. */
  readonly gracePeriodSeconds?: number;
  /** A pod that has been terminating for longer is not waited for. Absent = wait for every pod. */
  readonly skipWaitForDeleteTimeoutSeconds?: number;
}

/**
 * How MCO drains: everything goes that can go, with each pod's own grace period.
 *
 * @see MCO pkg/controller/drain/drain_controller.go (7ff337a4)
 */
export const MCO_DRAIN_OPTIONS: DrainOptions = {
  force: true,
  ignoreAllDaemonSets: true,
  deleteEmptyDirData: true,
};

/** What the filters know beyond the pod. */
export interface DrainContext {
  readonly options: DrainOptions;
  /** RFC 3339. */
  readonly now: string;
  /** `namespace/name` of DaemonSets that pods name as their owner and that do not exist. */
  readonly missingDaemonSets?: readonly string[];
}

/**
 * - `delete`: evict it
 * - `warn`: evict it, and tell the operator what is lost
 * - `skip`: leave it on the node, and do not wait for it
 * - `refuse`: the node cannot be drained while this pod is on it
 */
export type DrainVerdict = 'delete' | 'warn' | 'skip' | 'refuse';

export type FindingReason =
  | 'DeletingForLong'
  | 'DaemonSet'
  | 'OrphanedDaemonSet'
  | 'MirrorPod'
  | 'LocalStorage'
  | 'Unmanaged';

/** One filter's objection. `message` reads on with a colon and the pods that it is about. */
export interface Finding {
  readonly verdict: Exclude<DrainVerdict, 'delete'>;
  readonly reason: FindingReason;
  readonly message: string;
}

export type PodFilter = (pod: Pod, context: DrainContext) => Finding | undefined;

/** A pod, what happens to it, and every reason given; no reason for a plain `delete`. */
export interface JudgedPod {
  readonly pod: Pod;
  readonly verdict: DrainVerdict;
  readonly findings: readonly Finding[];
}

/** The filters, in the order in which they look at a pod. */
const FILTERS: readonly PodFilter[] = [
  deletingForLong,
  daemonSet,
  mirrorPod,
  localStorage,
  unmanaged,
];

/** Decides about each pod on a node, in the order given. */
export function judgePods(pods: readonly Pod[], context: DrainContext): readonly JudgedPod[] {
  return pods.map((pod) => judgePod(pod, context));
}

/** Decides about one pod. */
export function judgePod(pod: Pod, context: DrainContext): JudgedPod {
  const findings: Finding[] = [];
  for (const filter of FILTERS) {
    const finding = filter(pod, context);
    if (finding === undefined) continue;
    findings.push(finding);
    if (finding.verdict !== 'warn') return { pod, verdict: finding.verdict, findings };
  }
  return { pod, verdict: findings.length > 0 ? 'warn' : 'delete', findings };
}

/** A pod whose node has lost touch may terminate for ever; nobody gains by waiting for it. */
function deletingForLong(pod: Pod, { options, now }: DrainContext): Finding | undefined {
  const limit = options.skipWaitForDeleteTimeoutSeconds ?? 0;
  const since = pod.metadata.deletionTimestamp;
  if (limit <= 0 || since === undefined) return undefined;
  const seconds = Math.trunc((Date.parse(now) - Date.parse(since)) / 1000);
  if (seconds <= limit) return undefined;
  return skip('DeletingForLong', `not waiting for pods that terminate for more than ${limit} s`);
}

/** Its controller ignores cordons: an evicted pod would come back to this very node. */
function daemonSet(pod: Pod, { options, missingDaemonSets }: DrainContext): Finding | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'DaemonSet' || isFinished(pod)) return undefined;
  const name = `${pod.metadata.namespace ?? ''}/${owner.name}`;
  if (missingDaemonSets?.includes(name) === true) {
    return options.force
      ? warn('OrphanedDaemonSet', `deleting pods whose DaemonSet ${name} does not exist`)
      : refuse('OrphanedDaemonSet', `pods whose DaemonSet ${name} does not exist (set force)`);
  }
  return options.ignoreAllDaemonSets
    ? skip('DaemonSet', 'ignoring DaemonSet-managed pods')
    : refuse('DaemonSet', 'DaemonSet-managed pods (set ignoreAllDaemonSets to ignore them)');
}

/** The kubelet runs it from a file; the API can only delete the mirror image. */
function mirrorPod(pod: Pod): Finding | undefined {
  const isMirror = pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  return isMirror ? skip('MirrorPod', 'ignoring static pods') : undefined;
}

/** What is in an `emptyDir` does not move with the pod. */
function localStorage(pod: Pod, { options }: DrainContext): Finding | undefined {
  const keepsData =
    pod.spec?.volumes?.some(({ emptyDir }) => typeof emptyDir === 'object') ?? false;
  if (!keepsData || isFinished(pod)) return undefined;
  return options.deleteEmptyDirData
    ? warn('LocalStorage', 'deleting pods with local storage')
    : refuse('LocalStorage', 'pods with local storage (set deleteEmptyDirData to delete them)');
}

/** Nothing will start it again elsewhere. */
function unmanaged(pod: Pod, { options }: DrainContext): Finding | undefined {
  if (controllerOf(pod) !== undefined || isFinished(pod)) return undefined;
  return options.force
    ? warn('Unmanaged', 'deleting pods that declare no controller')
    : refuse('Unmanaged', 'pods that declare no controller (set force to delete them)');
}

function skip(reason: FindingReason, message: string): Finding {
  return { verdict: 'skip', reason, message };
}

function warn(reason: FindingReason, message: string): Finding {
  return { verdict: 'warn', reason, message };
}

function refuse(reason: FindingReason, message: string): Finding {
  return { verdict: 'refuse', reason, message: `cannot delete ${message}` };
}

/**
 * The findings of one kind, one sentence per message with all its pods:
 * `deleting pods with local storage: shop/cart-7f, shop/cart-9x`. In order of appearance.
 */
export function groupedMessages(
  judged: readonly JudgedPod[],
  verdict: Finding['verdict'],
): readonly string[] {
  const pods = new Map<string, string[]>();
  for (const { pod, findings } of judged) {
    for (const finding of findings.filter((one) => one.verdict === verdict)) {
      pods.set(finding.message, [...(pods.get(finding.message) ?? []), nameOf(pod)]);
    }
  }
  return [...pods].map(([message, names]) => `${message}: ${names.join(', ')}`);
}
