/** Shows on a MachineConfigNode what its host reports, as conditions. */

import { failureName } from '../core/errors';
import { belongsTo } from '../core/node/adoption';
import type { MachineConfigNode } from '../core/node/types';
import type { Condition } from '../core/object-meta';
import { rfc3339 } from '../core/rfc3339';
import { newerOf } from './drift-recorder';
import { oneAtATime } from './one-at-a-time';
import type { ClusterView, WriteConditions } from './ports';

interface ConditionRecorder {
  /**
   * @param wanted - all conditions of the writer, made of what is known of the node
   * @returns false when the node has no MachineConfigNode yet, or one of an earlier Node
   * @throws `ApiUnavailable`
   */
  record(
    node: string,
    wanted: (known: MachineConfigNode, instant: string) => readonly Condition[],
  ): Promise<boolean>;
}

/** One report at a time per node, so that an older one never overwrites a newer one. */
export function createConditionRecorder(
  cluster: Pick<ClusterView, 'node' | 'machineConfigNode'>,
  write: WriteConditions,
  now: () => Date = () => new Date(),
): ConditionRecorder {
  const inTurn = oneAtATime();
  /** By node: the last write, which the watch may not show yet. */
  const written = new Map<string, MachineConfigNode>();

  return {
    record: (node, wantedOf) =>
      inTurn(node, async () => {
        const seen = cluster.machineConfigNode(node);
        const member = cluster.node(node);
        if (seen === undefined || member === undefined || !belongsTo(member, seen)) {
          written.delete(node);
          return false;
        }
        const known = newerOf(seen, written.get(node));
        if (known === seen) written.delete(node);
        const wanted = wantedOf(known, rfc3339(now()));
        if (isShown(known.status?.conditions ?? [], wanted)) return true;
        try {
          written.set(node, await write(node, wanted));
          return true;
        } catch (error) {
          // It was deleted in between.
          if (failureName(error) === 'ObjectNotFound') return false;
          throw error;
        }
      }),
  };
}

function isShown(shown: readonly Condition[], wanted: readonly Condition[]): boolean {
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
