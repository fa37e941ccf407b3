/** The host worker, as an OS image has it. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { execute } from '../execute';
import { digestOf } from './inputs';

const BUNDLE = join(repositoryRoot(), 'dist/host-bundle');

export async function productDigest(): Promise<string> {
  return digestOf([], [BUNDLE]);
}

/** The image has its own Node. */
export async function makeProduct(directory: string): Promise<void> {
  await mkdir(join(directory, 'usr/bin'), { recursive: true });
  await execute(join(BUNDLE, 'install'), ['image', directory]);
}
