/** The parsers of CRI-O and containerd, which say how they understand files of registries. */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { buildFromSource, requireGo } from '../binaries/build';
import type { BinarySource } from '../binaries/catalogue';
import { withLock } from '../binaries/lock';
import { reportOnStderr, withProgress } from '../binaries/progress';
import { isExecutable } from '../binaries/search-path';
import { readSettings, type BinarySettings } from '../binaries/settings';
import { repositoryRoot } from '../repository-root';

const FOLDER = 'image-registries';

/** Without the parts of containers/image that need C. */
const TAGS = '-tags=containers_image_openpgp';

/**
 * The program, from the cache for these sources, or built with Go.
 *
 * @throws Error that names the Go that is needed
 */
export async function ensureImageRegistries(): Promise<string> {
  const settings = readSettings();
  const sources = join(repositoryRoot(), 'tools', FOLDER);
  const { os, arch } = settings.platform;
  const version = await sourceDigest(sources);
  const directory = join(settings.cacheDirectory, FOLDER, `${version}-${os}-${arch}`);
  const program = join(directory, FOLDER);
  const work = async (): Promise<void> => {
    if (await isExecutable(program)) return;
    await mkdir(directory, { recursive: true });
    await build({ sources, program, version, settings });
  };
  await withLock(`${directory}.lock`, `building ${FOLDER}`, work, ({ pid, host, doing }) => {
    reportOnStderr(`waiting for process ${pid} on ${host}, which is ${doing}`);
  });
  return program;
}

/** 16 hexadecimal digits over the Go files. */
async function sourceDigest(sources: string): Promise<string> {
  const hash = createHash('sha256');
  const names = (await readdir(sources)).filter((name) => /\.(go|mod|sum)$/.test(name));
  for (const name of names.sort()) {
    const content = await readFile(join(sources, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 16);
}

interface Build {
  readonly sources: string;
  readonly program: string;
  readonly version: string;
  readonly settings: BinarySettings;
}

async function build({ sources, program, version, settings }: Build): Promise<void> {
  const source: BinarySource = {
    folder: FOLDER,
    version,
    goPackage: '.',
    goVariables: {},
    buildMinutes: 1,
  };
  const go = await requireGo(source, sources, settings);
  const environment = { ...settings.environment, GOFLAGS: `${TAGS} -buildvcs=false` };
  // An unfinished program never has the final name.
  const partial = `${program}.partial`;
  await withProgress(
    reportOnStderr,
    `building ${FOLDER} (about ${source.buildMinutes} min on two idle cores)`,
    `built ${FOLDER}`,
    () => buildFromSource(go, source, sources, partial, { ...settings, environment }),
  );
  await rename(partial, program);
}
