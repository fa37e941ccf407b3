/** What a host says of its pinned images, and how its MachineConfigNode shows it. */

import { cut } from '../encoding/one-line';
import { fewSentences } from '../few';
import { NodeCondition } from '../names';
import type { MachineConfigNode } from '../node/types';
import type { Condition } from '../object-meta';
import type { PinnedImages } from './pinned-images';

export interface PinnedReport {
  /** Hex: the images that the host was given last; absent = none yet. */
  readonly given?: string;
  /** How many of them are on the machine. */
  readonly present: number;
  /** Why the others are not; absent = they are being pulled. */
  readonly problem?: string;
}

/** A line of a container runtime names the image twice. */
export const PROBLEM_LIMIT = 4096;

const PROGRESSING = NodeCondition.PINNED_IMAGE_SETS_PROGRESSING;
const DEGRADED = NodeCondition.PINNED_IMAGE_SETS_DEGRADED;
const TYPES: readonly string[] = [PROGRESSING, DEGRADED];

interface Given {
  readonly pinned: PinnedImages;
  /** Of the sources. */
  readonly problems: readonly string[];
}

/**
 * The two conditions for a report; none for a node that never had pinned images.
 *
 * @param now - RFC 3339
 * @see MCO pkg/daemon/pinned_image_set.go: types, statuses and the reasons of success and failure
 */
export function pinnedConditions(
  report: PinnedReport,
  { pinned, problems }: Given,
  known: Pick<MachineConfigNode, 'status'> | undefined,
  now: string,
): readonly Condition[] {
  const shown = pinnedShown(known);
  const total = pinned.images.length;
  if (shown.length === 0 && total === 0 && problems.length === 0) return [];
  const isCurrent = report.given === pinned.digest;
  const present = isCurrent ? Math.min(report.present, total) : 0;
  const isDone = isCurrent && present === total;
  const failed = [
    ...(isCurrent && report.problem !== undefined ? [report.problem] : []),
    ...problems,
  ];
  const progressing = isDone
    ? says(PROGRESSING, 'False', 'AsExpected', allThere(pinned))
    : says(PROGRESSING, 'True', 'ImagePrefetch', `${present} of ${total} pinned images are there`);
  const degraded =
    failed.length === 0
      ? says(DEGRADED, 'False', 'AsExpected', 'no pinned image has failed')
      : says(DEGRADED, 'True', 'PrefetchFailed', cut(fewSentences(failed), 2 * PROBLEM_LIMIT));
  return [progressing, degraded].map((value) => {
    const before = shown.find(({ type }) => type === value.type);
    const since = before?.status === value.status ? before.lastTransitionTime : undefined;
    return { ...value, lastTransitionTime: since ?? now };
  });
}

/** The message of a machine that has them all. Its digest says for which list. */
export function allThere({ images, digest }: PinnedImages): string {
  return `all ${images.length} pinned images are on the machine (list ${digest.slice(0, 12)})`;
}

function says(
  type: NodeCondition,
  status: Condition['status'],
  reason: string,
  message: string,
): Omit<Condition, 'lastTransitionTime'> {
  return { type, status, reason, message };
}

/** The conditions of the last report. */
export function pinnedShown(
  known: Pick<MachineConfigNode, 'status'> | undefined,
): readonly Condition[] {
  return (known?.status?.conditions ?? []).filter(({ type }) => TYPES.includes(type));
}
