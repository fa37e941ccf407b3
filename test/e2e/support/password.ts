/** Compares the password of `core` on the disk of a host with the hash in a rendered config. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CORE, type RenderedConfig } from './rendered-config';

const SHADOW = '/etc/shadow';

/**
 * Never reports a hash, because reports end up in logs. Without a hash in the config, any is right except those of
 * other configs.
 */
export async function passwordDifferences(
  root: string,
  config: RenderedConfig,
  others: readonly RenderedConfig[],
): Promise<readonly string[]> {
  const wanted = hashOf(config);
  const present = await hashOn(root);
  if (wanted !== '') {
    return present === wanted ? [] : [`${SHADOW} has another password of ${CORE} than the config`];
  }
  const isOfOther = others.some((other) => hashOf(other) !== '' && hashOf(other) === present);
  return isOfOther ? [`${SHADOW} has a password of ${CORE} that only other configs have`] : [];
}

/** Empty = the config has none. */
function hashOf({ spec }: RenderedConfig): string {
  const users = spec.config.passwd?.users ?? [];
  return users.find(({ name = CORE }) => name === CORE)?.passwordHash ?? '';
}

async function hashOn(root: string): Promise<string | undefined> {
  const text = await readFile(join(root, SHADOW), 'utf8').catch(() => '');
  const entries = text.split('\n').map((line) => line.split(':'));
  return entries.find(([account]) => account === CORE)?.[1];
}
