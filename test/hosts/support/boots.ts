/** How often machines were started, where power is cut and the observer cannot tell which boots had an order. */

import type { Machine } from '../machine/machine';

/** @returns how often each was started since, by name */
export function countBoots(machines: readonly Machine[]): () => Readonly<Record<string, number>> {
  const before = machines.map(({ launcher }) => launcher.boots());
  return () =>
    Object.fromEntries(
      machines.map(({ name, launcher }, index) => [name, launcher.boots() - (before[index] ?? 0)]),
    );
}
