/** Programs in Go whose sources are in a folder of tools/. */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-root';
import { buildFromSource, requireGo } from './build';
import type { BinarySource } from './catalogue';
import { withLock } from './lock';
import { reportOnStderr, withProgress } from './progress';
import { isExecutable } from './search-path';
import { type BinarySettings, readSettings } from './settings';

interface OwnProgram extends Partial<Pick<BinarySource, 'goVariables'>> {
  /** Also the name of the program. */
  readonly folder: string;
  readonly goTags?: string;
  /** Of a cold build on two idle cores. */
  readonly buildMinutes: number;
}

/**
 * The path of the program: from the cache for these sources, or built with Go.
 *
 * @throws Error that names the Go that is needed, or with the end of the compiler's output
 */
export async function ensureOwnProgram(own: OwnProgram): Promise<string> {
  const settings = readSettings();
  const { folder } = own;
  const { os, arch } = settings.platform;
  const sources = join(repositoryRoot(), 'tools', folder);
  const version = await digestOf(sources, own);
  const directory = join(settings.cacheDirectory, folder, `${version}-${os}-${arch}`);
  const program = join(directory, folder);
  const work = async (): Promise<void> => {
    if (await isExecutable(program)) return;
    await mkdir(directory, { recursive: true });
    await build(own, { sources, program, version, settings });
  };
  await withLock(`${directory}.lock`, `building ${folder}`, work, ({ pid, host, doing }) => {
    reportOnStderr(`waiting for process ${pid} on ${host}, which is ${doing}`);
  });
  return program;
}

/** 16 hexadecimal digits over what the program is built from. */
async function digestOf(sources: string, { goVariables, goTags }: OwnProgram): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([goVariables, goTags]));
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

async function build(
  { folder, goVariables = {}, goTags, buildMinutes }: OwnProgram,
  { sources, program, version, settings }: Build,
): Promise<void> {
  const source: BinarySource = { folder, version, goVariables, goPackage: '.', buildMinutes };
  const go = await requireGo(source, sources, settings);
  const flags = ['-buildvcs=false', ...(goTags === undefined ? [] : [`-tags=${goTags}`])];
  const environment = { ...settings.environment, GOFLAGS: flags.join(' ') };
  // An unfinished program never has the final name.
  const partial = `${program}.partial`;
  await withProgress(
    reportOnStderr,
    `building ${folder} (about ${buildMinutes} min on two idle cores)`,
    `built ${folder}`,
    () => buildFromSource(go, source, sources, partial, { ...settings, environment }),
  );
  await rename(partial, program);
}
