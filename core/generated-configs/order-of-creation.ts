import type { Origin } from './types';

/** The oldest first; without a time, by name. */
export function inOrderOfCreation(origins: readonly Origin[]): readonly Origin[] {
  return [...origins].sort((a, b) => {
    const [first, second] = [a, b].map(({ metadata }) => metadata.creationTimestamp ?? '');
    if (first !== second) return (first ?? '') < (second ?? '') ? -1 : 1;
    return a.metadata.name < b.metadata.name ? -1 : 1;
  });
}
