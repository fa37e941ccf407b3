/**
 * An object whose number an older one of the same pool has: a copy of that one, or an object whose
 * pools have changed. Both would write the same MachineConfig for ever.
 */

import { ANNOTATION } from '../names';
import { ofPool } from './names';
import { inOrderOfCreation } from './order-of-creation';
import type { Origin, SelectedPool } from './types';

/** The object as one that has no number yet, when an older one has it; else unchanged. */
export function withoutTakenNumber(
  origin: Origin,
  origins: readonly Origin[],
  pools: readonly SelectedPool[],
): Origin {
  const number = numberOf(origin);
  if (number === undefined) return origin;
  const isTaken = pools.some((pool) => {
    const rivals = ofPool(origins, pool);
    return 'found' in rivals && firstWith(number, rivals.found) !== origin.metadata.name;
  });
  if (!isTaken) return origin;
  const annotations = { ...origin.metadata.annotations };
  delete annotations[ANNOTATION.NAME_SUFFIX];
  return { ...origin, metadata: { ...origin.metadata, annotations, finalizers: [] } };
}

function firstWith(number: string, rivals: readonly Origin[]): string | undefined {
  const alike = rivals.filter((rival) => numberOf(rival) === number);
  return inOrderOfCreation(alike)[0]?.metadata.name;
}

function numberOf({ metadata }: Origin): string | undefined {
  return metadata.annotations?.[ANNOTATION.NAME_SUFFIX];
}
