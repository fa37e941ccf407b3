/** What a part of the record says about one node. */

import type { NodeChange, ObservedNode } from '../../observer/observed';
import type { RolloutRecord } from '../../observer/record';
import { CORDONED_BY, CURRENT_CONFIG, DESIRED_CONFIG } from './world';

/** A place in the record, to judge only what came after it. */
export type Mark = number;

export function markOf(record: RolloutRecord): Mark {
  return record.changes.length;
}

export function changesOf(record: RolloutRecord, node: string, since: Mark): readonly NodeChange[] {
  return record.changes.slice(since).filter((change) => change.node.name === node);
}

/** The config that a node was told to be on, for each of its reboots, in order. */
export function rebootsOf(record: RolloutRecord, node: string, since: Mark): readonly string[] {
  return changesOf(record, node, since)
    .filter(({ node: now, previous }) => previous !== undefined && previous.bootID !== now.bootID)
    .map(({ node: now }) => now.annotations[DESIRED_CONFIG] ?? '');
}

export function wasEverCordoned(record: RolloutRecord, node: string, since: Mark): boolean {
  return changesOf(record, node, since).some((change) => change.node.unschedulable);
}

/** Nodes in the order in which they were cordoned; each as often as it was. */
export function cordonsOf(record: RolloutRecord, since: Mark): readonly string[] {
  return record.changes
    .slice(since)
    .filter(({ node, previous }) => node.unschedulable && previous?.unschedulable === false)
    .map(({ node }) => node.name);
}

/** The taint of nodes that will be drained. */
export function isTainted({ taints }: ObservedNode): boolean {
  return taints.includes('UpdateInProgress');
}

/** Nodes that had it when they were cordoned. */
export function taintedWhenCordoned(record: RolloutRecord, since: Mark): readonly string[] {
  return record.changes
    .slice(since)
    .filter(({ node, previous }) => node.unschedulable && previous?.unschedulable === false)
    .filter(({ node }) => isTainted(node))
    .map(({ node }) => node.name);
}

export function wasEverNotReady(record: RolloutRecord, node: string, since: Mark): boolean {
  return changesOf(record, node, since).some((change) => !change.node.ready);
}

/** Nodes with a cordon of Slipway's, now. */
export function cordonedBySlipway(record: RolloutRecord): readonly string[] {
  return record.nodes
    .filter((node) => node.annotations[CORDONED_BY] !== undefined)
    .map((node) => node.name);
}

/**
 * Times at which a node's currentConfig became this config although it had not been verified: not
 * Ready, or, after an update with a reboot, still the machine as it was booted before. Empty = as promised.
 */
export function unverified(
  record: RolloutRecord,
  node: string,
  config: string,
  since: Mark,
  reboots = true,
): readonly string[] {
  const changes = changesOf(record, node, since);
  const before = changes[0]?.previous?.bootID;
  return changes
    .filter(({ node: now, previous }) => becomes(now, previous, config))
    .filter(({ node: now }) => !now.ready || (reboots && now.bootID === before))
    .map(({ node: now }) => `${node} became ${config}, Ready ${now.ready}, boot ${now.bootID}`);
}

function becomes(now: ObservedNode, previous: ObservedNode | undefined, config: string): boolean {
  return (
    now.annotations[CURRENT_CONFIG] === config && previous?.annotations[CURRENT_CONFIG] !== config
  );
}
