/**
 * The end of an update that was lost between its writes to the Node and to the MachineConfigNode.
 * No rollout takes up such a node, because it is done.
 */

import { isDriftReason } from '../../core/drift';
import { ANNOTATION, NodeCondition, NodeState } from '../../core/names';
import { belongsTo } from '../../core/node/adoption';
import { mcnConditions, ownConditions } from '../../core/node/conditions';
import { NodePhase } from '../../core/node/lifecycle';
import {
  annotationOf,
  currentConfigOf,
  desiredConfigOf,
  isDegraded,
  isDone,
} from '../../core/node/predicates';
import { lastRunOf } from '../../core/node/turn';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import { isConditionTrue } from '../../core/pool/conditions';
import type { ShownStatus } from './show-status';

/**
 * Undefined = the last update has written its end, or has not ended. A node that is Degraded on its
 * desired config failed after the commit of its host; drift is no end of an update.
 *
 * @param now - RFC 3339
 */
export function unsaidEnd(
  node: Node,
  known: MachineConfigNode,
  now: string,
): ShownStatus | undefined {
  const isOver = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN))?.isOver === true;
  if (!isOver || !belongsTo(node, known)) return undefined;
  const end = isDone(node) ? restOf(node, known, now) : failureOf(node, known, now);
  if (end === undefined) return undefined;
  const current = currentConfigOf(node);
  return {
    observedGeneration: known.metadata.generation ?? 1,
    configVersion: { desired: end.desired, ...(current === undefined ? {} : { current }) },
    conditions: end.conditions,
  };
}

interface End {
  readonly desired: string;
  readonly conditions: readonly Condition[];
}

/** The update led to this config, or was rolled back to it. */
function restOf(node: Node, known: MachineConfigNode, now: string): End | undefined {
  const config = currentConfigOf(node) ?? '';
  const { desired } = known.spec.configVersion;
  const { conditions: before = [], configVersion } = known.status ?? {};
  const isSaid = desired === config && configVersion?.current === config;
  if (isSaid && isConditionTrue(before, NodeCondition.UPDATED)) return undefined;
  const isUnderWay = ownConditions(before).some(({ status }) => status === 'Unknown');
  const conditions =
    isUnderWay && desired !== config
      ? mcnConditions(NodePhase.CANCELLED, before, { config: desired, restsOn: config, now })
      : mcnConditions(NodePhase.UPDATED, before, { config, now });
  return { desired: config, conditions };
}

/**
 * The node is on another config, or on this one, which its host had committed before the failure.
 */
function failureOf(node: Node, known: MachineConfigNode, now: string): End | undefined {
  const desired = desiredConfigOf(node);
  const message = annotationOf(node, ANNOTATION.REASON);
  if (!isDegraded(node) || desired === undefined) return undefined;
  const isOnIt = desired === currentConfigOf(node);
  if (isOnIt && (message === undefined || isDriftReason(message))) return undefined;
  const { conditions: before = [], configVersion } = known.status ?? {};
  const isOfThis =
    known.spec.configVersion.desired === desired && configVersion?.desired === desired;
  // The condition of another config is about an earlier update.
  if (isOfThis && isConditionTrue(before, NodeCondition.NODE_DEGRADED)) return undefined;
  const isRefused = annotationOf(node, ANNOTATION.STATE) === NodeState.UNRECONCILABLE;
  const conditions = mcnConditions(NodePhase.DEGRADED, before, {
    ...{ config: desired, now },
    ...(message === undefined ? {} : { message }),
    ...(isRefused ? { failure: NodeState.UNRECONCILABLE } : {}),
  });
  return { desired, conditions };
}
