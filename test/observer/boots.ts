/** Reboots by update (I5). */

import type { ObservedNode } from './observed';

const GROUP = 'machineconfiguration.openshift.io';
const CURRENT = `${GROUP}/currentConfig`;
const DESIRED = `${GROUP}/desiredConfig`;
const STATE = `${GROUP}/state`;
const CORDONED_BY = 'slipway.dev/cordoned-by';
const UNDER_ORDER = ['Working', 'Rebooting'];
const FAILED = ['Degraded', 'Unreconcilable'];

/** Into the new config, and back. */
const MOST = 2;

/**
 * A node reboots once for an update that succeeds, at most once more for one that is rolled back,
 * and never without an order.
 */
export class Boots {
  /** Since the last update of the node ended. */
  readonly #pending = new Map<string, number>();

  /** @returns faults of this change, as sentences without the node's name */
  seen(node: ObservedNode, previous: ObservedNode): readonly string[] {
    const wrong: string[] = [];
    if (previous.bootID !== '' && node.bootID !== previous.bootID) {
      const count = (this.#pending.get(node.name) ?? 0) + 1;
      this.#pending.set(node.name, count);
      if (!isOrdered(previous) && !isOrdered(node)) wrong.push('rebooted, and nothing was ordered');
      if (count > MOST) wrong.push(`rebooted ${count} times in one update to ${desired(node)}`);
    }
    const landed = node.annotations[CURRENT] !== previous.annotations[CURRENT];
    if (landed && (this.#pending.get(node.name) ?? 0) > 1) {
      wrong.push(
        `rebooted ${this.#pending.get(node.name)} times for its update to ${desired(node)}`,
      );
    }
    if (landed || isOver(node, previous)) this.#pending.delete(node.name);
    return wrong;
  }
}

/**
 * An update runs, or is about to. The machine of a node that failed has nothing to reboot for,
 * unless it could not be rolled back and settles that when it comes up, or is new and tries again.
 */
function isOrdered({ annotations }: ObservedNode): boolean {
  const state = annotations[STATE] ?? '';
  if (UNDER_ORDER.includes(state) || annotations[CORDONED_BY] !== undefined) return true;
  const hasFailed = FAILED.includes(state) && annotations[CURRENT] !== undefined;
  return annotations[DESIRED] !== annotations[CURRENT] && !hasFailed;
}

function isOver(node: ObservedNode, previous: ObservedNode): boolean {
  const before = previous.annotations[STATE] ?? '';
  return UNDER_ORDER.includes(before) && !UNDER_ORDER.includes(node.annotations[STATE] ?? '');
}

function desired({ annotations }: ObservedNode): string {
  return annotations[DESIRED] ?? 'no config';
}
