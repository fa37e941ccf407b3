/** Where programs such as podman and skopeo keep what they know of registries. */

import { readdir, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** In the order in which they are asked. @see containers-auth.json(5) */
export function authFiles(env: Environment): {
  readonly files: readonly string[];
  /** By a person, so they have to be there. */
  readonly areNamed: boolean;
} {
  const named = env['REGISTRY_AUTH_FILE'];
  if (named !== undefined && named !== '') return { files: [named], areNamed: true };
  const home = env['HOME'] || homedir();
  const runtime = env['XDG_RUNTIME_DIR'];
  const files = [
    ...(runtime ? [join(runtime, 'containers', 'auth.json')] : []),
    join(configDirectory(env), 'containers', 'auth.json'),
    join(env['DOCKER_CONFIG'] || join(home, '.docker'), 'config.json'),
  ];
  return { files, areNamed: false };
}

/** Later ones add to the first. @see containers-registries.conf(5) */
export async function registriesConfFiles(env: Environment): Promise<readonly string[]> {
  const named = env['CONTAINERS_REGISTRIES_CONF'];
  if (named !== undefined && named !== '') return [named];
  const folders = [join(configDirectory(env), 'containers'), '/etc/containers'];
  const dropIns = await Promise.all(folders.map((folder) => listed(folder, 'registries.conf.d')));
  return [...folders.map((folder) => join(folder, 'registries.conf')), ...dropIns.flat()];
}

/** PEM of the authorities that sign certificates of the registry. @see containers-certs.d(5) */
export async function authoritiesFor(host: string, env: Environment): Promise<readonly string[]> {
  const folders = [join(configDirectory(env), 'containers'), '/etc/containers', '/etc/docker'];
  const found = await Promise.all(folders.map((folder) => listed(folder, join('certs.d', host))));
  const files = found.flat().filter((file) => file.endsWith('.crt'));
  return Promise.all(files.map((file) => readFile(file, 'utf8')));
}

/** Undefined = there is none. */
export async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function configDirectory(env: Environment): string {
  return env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
}

async function listed(folder: string, name: string): Promise<readonly string[]> {
  try {
    const files = await readdir(join(folder, name));
    return files.sort().map((file) => join(folder, name, file));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '');
}
