/** Whose a cordon without a mark is: it looks like a person's, also when Slipway has left it (I2). */

import type { ObservedNode } from './observed';

const CORDONED_BY = 'slipway.dev/cordoned-by';

/** Versions of a Node. */
interface Cordon {
  /** The first one with the cordon. */
  readonly set: string;
  /** The first one without a mark since, or without a person who applies it; absent = it has one. */
  readonly bare?: string;
}

/** Of a person as far as it shows; one of Slipway's is also of those who apply it. */
export function isPersonsCordon(node: ObservedNode): boolean {
  return isWithoutMark(node) || (node.unschedulable && node.cordonAppliedBy.length > 0);
}

/** A cordon of which Slipway does not say that it is its own. */
export function isWithoutMark(node: ObservedNode): boolean {
  return node.unschedulable && node.annotations[CORDONED_BY] === undefined;
}

/**
 * Remembers which write made each cordon what it is. A cordon that was there when the Node was first seen
 * is nobody's.
 */
export class Cordons {
  readonly #cordons = new Map<string, Cordon>();

  seen(node: ObservedNode, previous: ObservedNode | undefined): void {
    const { name, resourceVersion } = node;
    const known = this.#cordons.get(name);
    this.#cordons.delete(name);
    if (!node.unschedulable || previous === undefined) return;
    const set = previous.unschedulable ? known?.set : resourceVersion;
    if (set === undefined) return;
    const isLeft = isWithoutMark(node) && node.cordonAppliedBy.length === 0;
    const bare = isLeft ? { bare: known?.bare ?? resourceVersion } : {};
    this.#cordons.set(name, { set, ...bare });
  }

  /**
   * A person who takes the cordon away and sets it again, or takes the mark away, makes it theirs. So both
   * must be Slipway's writes.
   *
   * @param writerOf - Slipway's user who wrote a version; undefined = somebody else, or nobody knows
   * @returns Slipway's user who left the node like that
   */
  leftBy(name: string, writerOf: (version: string) => string | undefined): string | undefined {
    const { set, bare } = this.#cordons.get(name) ?? {};
    if (set === undefined || bare === undefined) return undefined;
    return writerOf(set) === undefined ? undefined : writerOf(bare);
  }
}
