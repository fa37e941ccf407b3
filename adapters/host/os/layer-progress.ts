/**
 * Progress of pulls that are reported only as text: the library of rpm-ostree and bootc keeps a ref
 * for every layer that has arrived, and the manifest lists all layers.
 */

import { failureName } from '../../../core/errors';
import type { PullProgress, StepContext } from './os-status';
import { readJson } from './json-fields';
import type { RunProgram } from './program';
import { type Layer, layersIn, pulledLayers } from './pulled-layers';
import { registryCredentials } from './registry-credentials';

const EVERY_MS = 1_000;

interface PullWatch {
  readonly run: RunProgram;
  readonly root: string;
  readonly image: string;
  readonly text: string;
}

/** Without a readable manifest it reports no numbers: the pull fails with the cause. */
export async function watchingLayers<T>(
  watch: PullWatch,
  context: StepContext,
  pull: () => Promise<T>,
): Promise<T> {
  const layers = await layersOf(watch, context);
  if (layers === undefined) {
    context.progress(watch.text);
    return pull();
  }
  const there = await pulledLayers(watch.root);
  const missing = layers.filter(({ digest }) => !there.has(digest));
  const report = async (): Promise<void> =>
    context.progress(watch.text, progressOf(missing, await pulledLayers(watch.root)));
  await report();
  // The next report makes up for a failed one.
  const timer = setInterval(() => void report().catch(() => undefined), EVERY_MS);
  try {
    const result = await pull();
    await report();
    return result;
  } finally {
    clearInterval(timer);
  }
}

function progressOf(missing: readonly Layer[], there: ReadonlySet<string>): PullProgress {
  const come = missing.filter(({ digest }) => there.has(digest));
  return {
    bytes: sum(come),
    totalBytes: sum(missing),
    layers: come.length,
    totalLayers: missing.length,
  };
}

async function layersOf(
  { run, root, image }: PullWatch,
  { signal }: StepContext,
): Promise<readonly Layer[] | undefined> {
  try {
    const file = await registryCredentials(root);
    const credentials = file === undefined ? ['--no-creds'] : ['--authfile', file];
    const words = ['inspect', '--raw', ...credentials, `docker://${image}`];
    return layersIn(readJson('skopeo inspect', await run('skopeo', words, { signal })));
  } catch (error) {
    if (failureName(error) === 'OsCommandFailed') return undefined;
    throw error;
  }
}

function sum(layers: readonly Layer[]): number {
  return layers.reduce((total, { bytes }) => total + bytes, 0);
}
