/** The kubelet's own checks of a KubeletConfiguration, as a program (*.go). */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { buildFromSource, requireGo } from '../binaries/build';
import { sourceOf, type BinarySource } from '../binaries/catalogue';
import { withLock } from '../binaries/lock';
import { reportOnStderr, withProgress } from '../binaries/progress';
import { isExecutable } from '../binaries/search-path';
import { readSettings, type BinarySettings } from '../binaries/settings';
import { repositoryRoot } from '../repository-root';

const FOLDER = 'kubelet-validation';
/** Of a cold build on two idle cores; beside a built kubelet it takes seconds. */
const BUILD_MINUTES = 3;

/**
 * The path of the program: from the cache for these sources, or built with Go.
 *
 * @throws Error that names the Go that is needed, or with the end of the compiler's output
 */
export async function ensureKubeletValidation(): Promise<string> {
  const settings = readSettings();
  const folder = join(repositoryRoot(), 'tools', FOLDER);
  const directory = join(settings.cacheDirectory, FOLDER, await digestOf(folder));
  const program = join(directory, FOLDER);
  await withLock(`${directory}.lock`, `building ${FOLDER}`, async () => {
    if (!(await isExecutable(program))) await build(folder, directory, program, settings);
  });
  return program;
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const sources = (await readdir(folder)).filter((file) => file.endsWith('.go'));
  for (const file of [...sources.sort(), 'go.mod', 'go.sum']) {
    const content = await readFile(join(folder, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

async function build(
  folder: string,
  directory: string,
  program: string,
  settings: BinarySettings,
): Promise<void> {
  // Of the same Kubernetes, so that Go shares what it has compiled for the kubelet.
  const { version, goVariables } = sourceOf('kubelet');
  const source: BinarySource = {
    ...{ folder: FOLDER, version, goVariables },
    ...{ goPackage: '.', buildMinutes: BUILD_MINUTES },
  };
  await mkdir(directory, { recursive: true });
  const partial = `${program}.partial`;
  const go = await requireGo(source, folder, settings);
  await withProgress(
    reportOnStderr,
    `building ${FOLDER} (at most ${BUILD_MINUTES} min on two idle cores)`,
    `built ${FOLDER}`,
    () => buildFromSource(go, source, folder, partial, settings),
  );
  await rename(partial, program);
}
