/** The observer cannot tell which boots had an order when power is cut. */

import type { Machine } from '../machine/machine';

/** @returns later starts of each machine, by name */
export function countBoots(machines: readonly Machine[]): () => Readonly<Record<string, number>> {
  const before = machines.map(({ launcher }) => launcher.boots());
  return () =>
    Object.fromEntries(
      machines.map(({ name, launcher }, index) => [name, launcher.boots() - (before[index] ?? 0)]),
    );
}
