/**
 * Which of two slots of a pool was given first. Their numbers alone do not say it: a slot that was given later may be
 * used earlier, and whoever uses the earlier one must count the node beside it.
 */

import { ANNOTATION } from '../names';
import { annotationOf } from '../node/predicates';
import type { Node } from '../node/types';

/** A slot as whoever uses it knows it; of two that were given in one moment, the higher number is the later one. */
export interface GivenSlot {
  /** RFC 3339, by the clock of Temporal's server. */
  readonly grantedAt: string;
  readonly number: number;
}

/** What the Node says of the slot in which it was taken out of service. */
export function slotMark({ grantedAt, number }: GivenSlot): string {
  return `${grantedAt}/${number}`;
}

/** The slot in which the node was taken last; undefined = nobody said, or a person has written something else. */
export function slotOfNode(node: Node): GivenSlot | undefined {
  const [grantedAt = '', number = ''] = annotationOf(node, ANNOTATION.SLOT)?.split('/') ?? [];
  const isSlot = !Number.isNaN(Date.parse(grantedAt)) && /^\d+$/.test(number);
  return isSlot ? { grantedAt, number: Number(number) } : undefined;
}

/** Whether it was given after the other one. Of one that nobody knows: no. */
export function isLaterSlot(slot: GivenSlot | undefined, than: GivenSlot): boolean {
  if (slot === undefined) return false;
  const [at, other] = [Date.parse(slot.grantedAt), Date.parse(than.grantedAt)];
  return at > other || (at === other && slot.number > than.number);
}
