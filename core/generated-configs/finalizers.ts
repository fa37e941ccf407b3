/**
 * Finalizers of an object that name what it generated: the MachineConfig, or its UID, as before
 * OpenShift 4.7. All others are somebody else's.
 */

import type { KnownConfig, OriginKind } from './types';

const POOL = '[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?';
const UID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

export function isOwnFinalizer(
  { word }: OriginKind,
  finalizer: string,
  configs: readonly KnownConfig[],
): boolean {
  const names = new RegExp(`^99-${POOL}-(?:generated-${word}(?:-[1-9])?|${UID}-${word})$`);
  return (
    names.test(finalizer) ||
    configs.some(({ metadata: { name, uid } }) => uid === finalizer && names.test(name))
  );
}
