/**
 * How an update has ended, where only its Node says so. The end is written there first and on the MachineConfigNode
 * after it, so an update that is lost between both (its database, or a person terminates it) leaves that in the
 * middle of the update, and no rollout takes up a node that is done.
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
 * What the last update of the node would have written; undefined = it has, or it has not ended. A node that is
 * Degraded on the very config that it was to be on has failed after its host had committed, or has drifted: of drift
 * it says so, and that is no end of an update.
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

/** On its config: the update has led to it, or was taken back to it. */
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

/** Its update failed: it is on another one, or on the one that its host had committed before. */
function failureOf(node: Node, known: MachineConfigNode, now: string): End | undefined {
  const desired = desiredConfigOf(node);
  const message = annotationOf(node, ANNOTATION.REASON);
  if (!isDegraded(node) || desired === undefined) return undefined;
  const isOnIt = desired === currentConfigOf(node);
  if (isOnIt && (message === undefined || isDriftReason(message))) return undefined;
  const { conditions: before = [], configVersion } = known.status ?? {};
  const isOfThis =
    known.spec.configVersion.desired === desired && configVersion?.desired === desired;
  // What is said of another config is how an earlier update failed.
  if (isOfThis && isConditionTrue(before, NodeCondition.NODE_DEGRADED)) return undefined;
  const isRefused = annotationOf(node, ANNOTATION.STATE) === NodeState.UNRECONCILABLE;
  const conditions = mcnConditions(NodePhase.DEGRADED, before, {
    ...{ config: desired, now },
    ...(message === undefined ? {} : { message }),
    ...(isRefused ? { failure: NodeState.UNRECONCILABLE } : {}),
  });
  return { desired, conditions };
}
