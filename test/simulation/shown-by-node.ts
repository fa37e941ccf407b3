/** What a Node shows, read by the observer of the simulation, which shares no decision with the product. */

import type { Node } from '../../core/node/types';

const MCO = 'machineconfiguration.openshift.io';
const STATE = `${MCO}/state`;
const REASON = `${MCO}/reason`;

export function isReady({ status }: Node): boolean {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
}

export function isOpenToPods(node: Node): boolean {
  return isReady(node) && node.spec?.unschedulable !== true;
}

/** A machine that could not be taken back is kept out of service, and the Node says so. */
export function saysWhyItIsCordoned(node: Node): boolean {
  const told = node.metadata.annotations ?? {};
  const isFailed = told[STATE] === 'Degraded' || told[STATE] === 'Unreconcilable';
  return isFailed && /so the node is cordoned/.test(told[REASON] ?? '');
}
