import { failureName } from '../core/errors';
import { belongsTo } from '../core/node/adoption';
import { currentConfigOf } from '../core/node/predicates';
import { type DriftReport, driftCondition, driftStatus, isShown } from '../core/drift';
import { updatersCondition, updatersShown } from '../core/machine/updaters';
import type { MachineConfigNode } from '../core/node/types';
import { rfc3339 } from '../core/rfc3339';
import type { ClusterView, WriteDrift } from './ports';
import { oneAtATime } from './one-at-a-time';

interface DriftRecorder {
  /**
   * @returns false when the node has no MachineConfigNode yet, or one of an earlier Node
   * @throws `ApiUnavailable`
   */
  record(node: string, report: DriftReport): Promise<boolean>;
  /** Nodes whose last write the watch has not shown yet. */
  readonly waiting: number;
}

/** One report at a time per node, so that an older one never overwrites a newer one. */
export function createDriftRecorder(
  cluster: Pick<ClusterView, 'node' | 'machineConfigNode'>,
  write: WriteDrift,
  now: () => Date = () => new Date(),
): DriftRecorder {
  const inTurn = oneAtATime();
  // The watch may not show them yet.
  const written = new Map<string, MachineConfigNode>();

  async function recordNow(node: string, report: DriftReport): Promise<boolean> {
    const seen = cluster.machineConfigNode(node);
    const member = cluster.node(node);
    const isEarlier = seen !== undefined && member !== undefined && !belongsTo(member, seen);
    if (seen === undefined || isEarlier) {
      written.delete(node);
      return false;
    }
    const known = newerOf(seen, written.get(node));
    const instant = rfc3339(now());
    const updaters = updatersCondition(report.updaters, updatersShown(known), instant);
    const wanted = {
      ...driftStatus(node, report, driftCondition(known), instant),
      ...(updaters === undefined ? {} : { updaters }),
    };
    if (known === seen) written.delete(node);
    const hasConfig = member !== undefined && currentConfigOf(member) !== undefined;
    if (isShown(known, wanted, { hasConfig })) return true;
    try {
      written.set(node, await write(node, wanted));
      forgetShown();
      return true;
    } catch (error) {
      // It was deleted in between.
      if (failureName(error) === 'ObjectNotFound') return false;
      throw error;
    }
  }

  /** Drops writes that the watch has shown, and nodes that are gone. */
  function forgetShown(): void {
    for (const [node, own] of written) {
      const seen = cluster.machineConfigNode(node);
      if (seen === undefined || newerOf(seen, own) === seen) written.delete(node);
    }
  }

  return {
    get waiting() {
      return written.size;
    },
    record: (node, report) => inTurn(node, () => recordNow(node, report)),
  };
}

/** An object that was recreated under the name starts anew. */
export function newerOf(
  seen: MachineConfigNode,
  own: MachineConfigNode | undefined,
): MachineConfigNode {
  if (own === undefined || own.metadata.uid !== seen.metadata.uid) return seen;
  const version = ({ metadata }: MachineConfigNode) => Number(metadata.resourceVersion ?? 0);
  return version(own) > version(seen) ? own : seen;
}
