import { parse as parseToml } from 'smol-toml';
import { fail, messageOf } from '../../core/errors';
import { parseRegistriesConf, scopeOf } from '../../core/registries/registries-conf';
import { type Environment, readIfPresent, registriesConfFiles } from './places';

/**
 * Whether `registries.conf` says so of the longest prefix that covers the repository.
 *
 * @throws `PullFailed` for a file that nobody can read
 */
export async function isInsecure(name: string, env: Environment): Promise<boolean> {
  const files = await registriesConfFiles(env);
  const read = await Promise.all(files.map(registriesIn));
  const [closest] = read
    .flat()
    .filter((registry) => covers(scopeOf(registry), name))
    .sort((a, b) => scopeOf(b).length - scopeOf(a).length);
  return closest?.insecure === true;
}

async function registriesIn(
  file: string,
): Promise<ReturnType<typeof parseRegistriesConf>['registries']> {
  const text = await readIfPresent(file);
  if (text === undefined) return [];
  try {
    return parseRegistriesConf(text, { parseToml }).registries;
  } catch (error) {
    throw fail('PullFailed', `${file}: ${messageOf(error)}; correct the file`);
  }
}

function covers(scope: string, name: string): boolean {
  return name === scope || name.startsWith(`${scope}/`);
}
