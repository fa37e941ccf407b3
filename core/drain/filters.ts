/**
 * Which pods a drain evicts, which it leaves, and which forbid it.
 *
 * Five filters check each pod in a fixed order. The first one that keeps the pod or refuses the drain
 * decides. A filter that only warns lets the next ones check, too. A pod without a finding is evicted.
 *
 * @see kubectl pkg/drain/filters.go, whose order and rules these are. Two things differ: all warnings
 * are kept (kubectl keeps only the last one), and the time is an argument.
 */

import { controllerOf, isFinished, MIRROR_ANNOTATION, nameOf, type Pod } from './pods';

export interface DrainOptions {
  /** Evict pods that nothing recreates, and pods of a deleted DaemonSet. */
  readonly force: boolean;
  /** Leave pods of DaemonSets on the node; without it, they refuse the drain. */
  readonly ignoreAllDaemonSets: boolean;
  /** Evict pods whose `emptyDir` is lost with them. */
  readonly deleteEmptyDirData: boolean;
  /** Absent = the grace period of each pod. */
  readonly gracePeriodSeconds?: number;
  /** Do not wait for a pod that has been terminating for longer. Absent = wait for every pod. */
  readonly skipWaitForDeleteTimeoutSeconds?: number;
}

/**
 * How MCO drains: it evicts every pod that it can, with the grace period of the pod.
 *
 * @see MCO pkg/controller/drain/drain_controller.go (7ff337a4)
 */
export const MCO_DRAIN_OPTIONS: DrainOptions = {
  force: true,
  ignoreAllDaemonSets: true,
  deleteEmptyDirData: true,
};

/** Facts for the filters beyond the pod. */
export interface DrainContext {
  readonly options: DrainOptions;
  /** RFC 3339. */
  readonly now: string;
  /** `namespace/name` of DaemonSets that own pods and do not exist. */
  readonly missingDaemonSets?: readonly string[];
}

/**
 * - `delete`: evict it
 * - `warn`: evict it, and report what is lost
 * - `skip`: leave it on the node, and do not wait for it
 * - `refuse`: the node cannot be drained while this pod is on it
 */
type DrainVerdict = 'delete' | 'warn' | 'skip' | 'refuse';

type FindingReason =
  | 'DeletingForLong'
  | 'DaemonSet'
  | 'OrphanedDaemonSet'
  | 'MirrorPod'
  | 'LocalStorage'
  | 'Unmanaged';

/** The objection of one filter. A list of pods follows the message: `<message>: shop/cart-7f`. */
interface Finding {
  readonly verdict: Exclude<DrainVerdict, 'delete'>;
  readonly reason: FindingReason;
  readonly message: string;
}

type PodFilter = (pod: Pod, context: DrainContext) => Finding | undefined;

/** A pod, what happens to it, and the findings that say why; a plain `delete` has none. */
export interface JudgedPod {
  readonly pod: Pod;
  readonly verdict: DrainVerdict;
  readonly findings: readonly Finding[];
}

/** The filters, in the order in which they check a pod. */
const FILTERS: readonly PodFilter[] = [
  deletingForLong,
  daemonSet,
  mirrorPod,
  localStorage,
  unmanaged,
];

/** In the given order. */
export function judgePods(pods: readonly Pod[], context: DrainContext): readonly JudgedPod[] {
  return pods.map((pod) => judgePod(pod, context));
}

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

/** A pod may terminate for ever if its node has lost contact. */
function deletingForLong(pod: Pod, { options, now }: DrainContext): Finding | undefined {
  const limit = options.skipWaitForDeleteTimeoutSeconds ?? 0;
  const since = pod.metadata.deletionTimestamp;
  if (limit <= 0 || since === undefined) return undefined;
  const seconds = Math.trunc((Date.parse(now) - Date.parse(since)) / 1000);
  if (seconds <= limit) return undefined;
  return skip('DeletingForLong', `not waiting for pods that terminate for more than ${limit} s`);
}

/** The DaemonSet controller ignores cordons: an evicted pod would come back to this node. */
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

/** The kubelet runs a static pod from a file. The API can only delete its mirror. */
function mirrorPod(pod: Pod): Finding | undefined {
  const isMirror = pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined;
  return isMirror ? skip('MirrorPod', 'ignoring static pods') : undefined;
}

/** The data in an `emptyDir` is lost with the pod. */
function localStorage(pod: Pod, { options }: DrainContext): Finding | undefined {
  const hasLocalData =
    pod.spec?.volumes?.some(({ emptyDir }) => typeof emptyDir === 'object') ?? false;
  if (!hasLocalData || isFinished(pod)) return undefined;
  return options.deleteEmptyDirData
    ? warn('LocalStorage', 'deleting pods with local storage')
    : refuse('LocalStorage', 'pods with local storage (set deleteEmptyDirData to delete them)');
}

/** No controller will start the pod again on another node. */
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
 * The findings with this verdict, one sentence for each message with all its pods:
 * `deleting pods with local storage: shop/cart-7f, shop/cart-9x`. They keep the order of the pods.
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
