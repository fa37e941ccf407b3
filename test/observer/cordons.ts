/** A cordon without a mark looks like a person's, also when Slipway has left it (I2). */

import type { ObservedNode } from './observed';

const CORDONED_BY = 'slipway.dev/cordoned-by';

/** Versions of a Node. */
interface Cordon {
  /** The first version with the cordon. */
  readonly set: string;
  /**
   * The first version without a mark since, or without a person who applies it; absent = it has
   * one.
   */
  readonly bare?: string;
}

/** A cordon of Slipway that a person applies, too, is also the person's. */
export function isPersonsCordon(node: ObservedNode): boolean {
  return isWithoutMark(node) || (node.unschedulable && node.cordonAppliedBy.length > 0);
}

export function isWithoutMark(node: ObservedNode): boolean {
  return node.unschedulable && node.annotations[CORDONED_BY] === undefined;
}

/**
 * Remembers which write made each cordon. A cordon from before the Node was first seen is nobody's.
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
   * A person who sets the cordon again, or removes the mark, makes it theirs: both must be
   * Slipway's writes.
   *
   * @param writerOf - Slipway's user who wrote a version; undefined = another writer, or not known
   * @returns Slipway's user who left the node like that
   */
  leftBy(name: string, writerOf: (version: string) => string | undefined): string | undefined {
    const { set, bare } = this.#cordons.get(name) ?? {};
    if (set === undefined || bare === undefined) return undefined;
    return writerOf(set) === undefined ? undefined : writerOf(bare);
  }
}
