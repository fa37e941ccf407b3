/**
 * Adoption: the first config of a Node, which its machine came with. MCO's daemon writes it at its
 * first start; here the host worker, which has no Kubernetes credentials, reports it.
 */

import { driftAnnotations, driftCondition, isNewerThanFailure } from '../drift/status';
import { ANNOTATION, NodeState } from '../names';
import {
  annotationOf,
  currentConfigOf,
  desiredConfigOf,
  failedWithoutConfig,
  isDegraded,
  saysReady,
  unreadyCondition,
} from './predicates';
import type { MachineConfigNode, Node } from './types';

interface Adoption {
  readonly config: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** No config was ever verified on the node, and its kubelet is Ready. */
export function awaitsAdoption(node: Node): boolean {
  return (
    saysReady(node) && currentConfigOf(node) === undefined && unreadyCondition(node) === undefined
  );
}

/**
 * Adoption of a node on which no config was ever verified; undefined = it has one, is not Ready, an
 * update works on it, or its host has not reported since it failed. With drift the same write makes
 * it Degraded.
 *
 * @see MCO pkg/daemon/daemon.go, checkStateOnFirstRun (7ff337a4)
 */
export function adoptionOf(
  node: Node,
  known: Pick<MachineConfigNode, 'metadata' | 'status'> | undefined,
): Adoption | undefined {
  const config = known?.status?.drift?.config;
  const reported = driftCondition(known);
  if (known === undefined || config === undefined || reported === undefined) return undefined;
  if (!awaitsAdoption(node) || !belongsTo(node, known)) return undefined;
  if (desiredConfigOf(node) !== undefined) {
    if (!isDegraded(node) || isCordonOurs(node)) return undefined;
    // It failed before its host reported, or is on its desired config now. Other failures stay.
    const isOver = failedWithoutConfig(node) || desiredConfigOf(node) === config;
    if (!isOver || !isNewerThanFailure(known, reported)) return undefined;
  }
  const annotations = {
    [ANNOTATION.CURRENT_CONFIG]: config,
    [ANNOTATION.DESIRED_CONFIG]: config,
    [ANNOTATION.STATE]: NodeState.DONE,
    [ANNOTATION.REASON]: '',
  };
  return {
    config,
    annotations: { ...annotations, ...driftAnnotations(saying(node, annotations), known) },
  };
}

/**
 * Whether the object belongs to this Node; one of an earlier Node of the name is deleted a moment
 * later.
 */
export function belongsTo(
  { metadata }: Pick<Node, 'metadata'>,
  known: Pick<MachineConfigNode, 'metadata'>,
): boolean {
  const owner = known.metadata.ownerReferences?.find(({ kind }) => kind === 'Node');
  return owner === undefined || metadata.uid === undefined || owner.uid === metadata.uid;
}

/** A host that could not be rolled back: its update shows its state. */
function isCordonOurs(node: Node): boolean {
  return annotationOf(node, ANNOTATION.CORDONED_BY) !== undefined;
}

function saying(node: Node, annotations: Readonly<Record<string, string>>): Node {
  const { metadata } = node;
  return {
    ...node,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  };
}
