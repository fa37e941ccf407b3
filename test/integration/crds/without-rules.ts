/** A definition without Slipway's rules, as an earlier one, or that of MCO. */

import type { KubeClient } from '../../../adapters/kube/client';
import { failureName } from '../../../core/errors';
import { until } from '../tools/until';
import { CRDS } from './install';

/** Repeats the write until the API server takes it, and puts the rules back. */
export async function writeWithoutRules(
  client: KubeClient,
  name: string,
  write: () => Promise<unknown>,
): Promise<void> {
  const { spec: strict } = await client.get(CRDS, { name });
  const spec = structuredClone(strict);
  removeRules(spec);
  await client.patch(CRDS, { name }, { spec });
  try {
    // The API server takes a moment to serve a changed definition.
    await until(() => isTaken(write), `${name} has no rules`, 30_000);
  } finally {
    await client.patch(CRDS, { name }, { spec: strict });
  }
}

async function isTaken(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if (failureName(error) !== 'ApiRefused') throw error;
    return false;
  }
}

function removeRules(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  if ('x-kubernetes-validations' in value) value['x-kubernetes-validations'] = null;
  for (const member of Object.values(value)) removeRules(member);
}
