/** Facts about one node from a part of the record. */

import type { NodeChange, ObservedNode } from '../../observer/observed';
import type { RolloutRecord } from '../../observer/record';
import { CORDONED_BY, CURRENT_CONFIG, DESIRED_CONFIG } from './world';

/** A place in the record; facts are taken from what comes after it. */
export type Mark = number;

export function markOf(record: RolloutRecord): Mark {
  return record.changes.length;
}

export function changesOf(record: RolloutRecord, node: string, since: Mark): readonly NodeChange[] {
  return record.changes.slice(since).filter((change) => change.node.name === node);
}

/** The desired config of a node at each of its reboots, in order. */
export function rebootsOf(record: RolloutRecord, node: string, since: Mark): readonly string[] {
  return changesOf(record, node, since)
    .filter(({ node: now, previous }) => previous !== undefined && previous.bootID !== now.bootID)
    .map(({ node: now }) => now.annotations[DESIRED_CONFIG] ?? '');
}

export function wasEverCordoned(record: RolloutRecord, node: string, since: Mark): boolean {
  return changesOf(record, node, since).some((change) => change.node.unschedulable);
}

export function cordonsOf(record: RolloutRecord, since: Mark): readonly string[] {
  return record.changes
    .slice(since)
    .filter(({ node, previous }) => node.unschedulable && previous?.unschedulable === false)
    .map(({ node }) => node.name);
}

export function isTainted({ taints }: ObservedNode): boolean {
  return taints.includes('UpdateInProgress');
}

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

export function cordonedBySlipway(record: RolloutRecord): readonly string[] {
  return record.nodes
    .filter((node) => node.annotations[CORDONED_BY] !== undefined)
    .map((node) => node.name);
}

/**
 * Times at which currentConfig became this config before it was verified: the node was not Ready, or, after an
 * update with a reboot, had the boot ID of before. Empty = as promised.
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
