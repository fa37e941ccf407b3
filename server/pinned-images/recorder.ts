/** Shows on a MachineConfigNode which of its pinned images its host has. */

import { failureName } from '../../core/errors';
import { belongsTo } from '../../core/node/adoption';
import type { MachineConfigNode } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import {
  pinnedConditions,
  type pinnedOfPool,
  type PinnedReport,
  pinnedShown,
} from '../../core/pinned-images';
import { rfc3339 } from '../../core/rfc3339';
import { newerOf } from '../drift-recorder';
import { oneAtATime } from '../one-at-a-time';
import type { ClusterView, WritePinned } from '../ports';

type Given = ReturnType<typeof pinnedOfPool>;

interface PinnedRecorder {
  /**
   * @returns false when the node has no MachineConfigNode yet, or one of an earlier Node
   * @throws `ApiUnavailable`
   */
  record(node: string, report: PinnedReport, given: Given): Promise<boolean>;
}

/** One report at a time per node, so that an older one never overwrites a newer one. */
export function createPinnedRecorder(
  cluster: Pick<ClusterView, 'node' | 'machineConfigNode'>,
  write: WritePinned,
  now: () => Date = () => new Date(),
): PinnedRecorder {
  const inTurn = oneAtATime();
  /** By node: the last write, which the watch may not show yet. */
  const written = new Map<string, MachineConfigNode>();

  async function recordNow(node: string, report: PinnedReport, given: Given): Promise<boolean> {
    const seen = cluster.machineConfigNode(node);
    const member = cluster.node(node);
    if (seen === undefined || member === undefined || !belongsTo(member, seen)) {
      written.delete(node);
      return false;
    }
    const known = newerOf(seen, written.get(node));
    if (known === seen) written.delete(node);
    const wanted = pinnedConditions(report, given, known, rfc3339(now()));
    if (isSame(pinnedShown(known), wanted)) return true;
    try {
      written.set(node, await write(node, wanted));
      return true;
    } catch (error) {
      // It was deleted in between.
      if (failureName(error) === 'ObjectNotFound') return false;
      throw error;
    }
  }

  return {
    record: (node, report, given) => inTurn(node, () => recordNow(node, report, given)),
  };
}

function isSame(shown: readonly Condition[], wanted: readonly Condition[]): boolean {
  return wanted.every((one) =>
    shown.some(
      ({ type, status, reason, message }) =>
        type === one.type &&
        status === one.status &&
        reason === one.reason &&
        message === one.message,
    ),
  );
}
