/** Which nodes are out of service, since when, and by whom (I1). */

import type { ObservedNode } from './observed';

/**
 * How old the picture may be from which Slipway takes a node out of service. Nobody can count a node
 * that goes down by itself in that time.
 */
export const PICTURE_MS = 15_000;

const CORDONED_BY = 'slipway.dev/cordoned-by';
const STATE = 'machineconfiguration.openshift.io/state';
const UNDER_WAY = ['Working', 'Rebooting'];

export function isDown({ unschedulable, ready }: ObservedNode): boolean {
  return unschedulable || !ready;
}

/**
 * An update of Slipway's takes the node out of service: it goes down while that is under way, or is
 * cordoned although no update had left it. That it was down already is no permission.
 */
export function isTaken(node: ObservedNode, previous: ObservedNode): boolean {
  const isMarked = node.annotations[CORDONED_BY] !== undefined;
  if (!isDown(previous)) return node.unschedulable ? isMarked : isDown(node) && isOurs(node);
  const state = previous.annotations[STATE] ?? '';
  const wasLeft = previous.annotations[CORDONED_BY] !== undefined || !['', 'Done'].includes(state);
  return !wasLeft && isMarked && node.unschedulable;
}

function isOurs({ annotations }: ObservedNode): boolean {
  return annotations[CORDONED_BY] !== undefined || UNDER_WAY.includes(annotations[STATE] ?? '');
}

export class Down {
  /** By node: when it went down. */
  readonly #since = new Map<string, number>();
  /** By node: when it came back. */
  readonly #backAt = new Map<string, number>();

  seen(node: ObservedNode, atMs: number): void {
    const { name } = node;
    const wasDown = this.#since.has(name);
    if (isDown(node) && !wasDown) this.#since.set(name, atMs);
    if (!isDown(node) && wasDown) {
      this.#since.delete(name);
      this.#backAt.set(name, atMs);
    }
  }

  gone(name: string): void {
    this.#since.delete(name);
    this.#backAt.delete(name);
  }

  /** One that Slipway has, or that has been down for so long that every picture shows it. */
  counts(node: ObservedNode, atMs: number): boolean {
    return isOurs(node) || atMs - (this.#since.get(node.name) ?? atMs) >= PICTURE_MS;
  }

  /** No picture shows it down. */
  servedLong(name: string, atMs: number): boolean {
    return atMs - (this.#backAt.get(name) ?? -Infinity) >= PICTURE_MS;
  }
}
