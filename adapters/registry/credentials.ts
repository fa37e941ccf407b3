/** Names and passwords of registries, as `podman login` and `docker login` store them. */

import { fail } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { authFiles, type Environment, readIfPresent } from './places';

const FIX = 'log in again, or name another one with --authfile';

/** Older files name Docker's registry by its address. */
const DOCKER_KEYS = ['https://index.docker.io/v1/', 'index.docker.io'];

/**
 * The value of a `Basic` authorization; undefined = no file has one.
 *
 * @param name - host and path of a repository: the longest entry that covers it wins
 * @throws `PullFailed` for a file that nobody can read, and for a named one that is not there
 */
export async function basicFor(name: string, env: Environment): Promise<string | undefined> {
  const { files, areNamed } = authFiles(env);
  for (const file of files) {
    const text = await readIfPresent(file);
    if (text === undefined && areNamed) {
      throw fail('PullFailed', `there is no file ${file} with registry credentials; ${FIX}`);
    }
    const found = text === undefined ? undefined : entryFor(name, authsIn(text, file));
    if (found !== undefined) return found;
  }
  return undefined;
}

function authsIn(text: string, file: string): Readonly<Record<string, unknown>> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text === '' ? '{}' : text);
  } catch {
    // The error would quote the file.
    parsed = undefined;
  }
  const auths = isRecord(parsed) ? (parsed['auths'] ?? {}) : undefined;
  if (isRecord(auths)) return auths;
  throw fail('PullFailed', `${file} is not a file of registry credentials; ${FIX}`);
}

function entryFor(name: string, auths: Readonly<Record<string, unknown>>): string | undefined {
  const parts = name.split('/');
  const scopes = parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
  const keys = parts[0] === 'docker.io' ? [...scopes, ...DOCKER_KEYS] : scopes;
  return keys.map((key) => basicOf(auths[key])).find((value) => value !== undefined);
}

function basicOf(entry: unknown): string | undefined {
  if (!isRecord(entry)) return undefined;
  const { auth, username, password } = entry;
  if (typeof auth === 'string' && auth !== '') return auth;
  if (typeof username !== 'string' || typeof password !== 'string') return undefined;
  return Buffer.from(`${username}:${password}`).toString('base64');
}
