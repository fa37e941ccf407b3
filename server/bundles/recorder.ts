/** Shows on a MachineConfigNode which bundle its host has. */

import { failureName } from '../../core/errors';
import {
  bundleCondition,
  type BundleReport,
  bundleShown,
  type GivenBundle,
} from '../../core/host-bundle';
import { belongsTo } from '../../core/node/adoption';
import type { MachineConfigNode } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import { rfc3339 } from '../../core/rfc3339';
import { newerOf } from '../drift-recorder';
import type { ClusterView, WriteBundle } from '../ports';
import { oneAtATime } from '../one-at-a-time';

interface BundleRecorder {
  /**
   * @returns false when the node has no MachineConfigNode yet, or one of an earlier Node
   * @throws `ApiUnavailable`
   */
  record(node: string, report: BundleReport, given: GivenBundle): Promise<boolean>;
}

/** One report at a time per node, so that an older one never overwrites a newer one. */
export function createBundleRecorder(
  cluster: Pick<ClusterView, 'node' | 'machineConfigNode'>,
  write: WriteBundle,
  now: () => Date = () => new Date(),
): BundleRecorder {
  const inTurn = oneAtATime();
  /** By node: the last write, which the watch may not show yet. */
  const written = new Map<string, MachineConfigNode>();

  async function recordNow(
    node: string,
    report: BundleReport,
    given: GivenBundle,
  ): Promise<boolean> {
    const seen = cluster.machineConfigNode(node);
    const member = cluster.node(node);
    if (seen === undefined || member === undefined || !belongsTo(member, seen)) {
      written.delete(node);
      return false;
    }
    const known = newerOf(seen, written.get(node));
    if (known === seen) written.delete(node);
    const instant = rfc3339(now());
    const shown = bundleShown(known);
    const wanted = bundleCondition(report, given, shown, instant);
    if (isSame(shown, wanted)) return true;
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

function isSame(a: Condition | undefined, b: Condition): boolean {
  return a?.status === b.status && a.reason === b.reason && a.message === b.message;
}
