/** A user's place: a clone of this state of the checkout, and a shell without what npm and jest set. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';

const ROOT = repositoryRoot();

/** @param directory - existing; the clone is in `slipway` */
export function freshClone(directory: string): string {
  const clone = join(directory, 'slipway');
  const config = join(directory, 'gitconfig');
  // The tests may run as another user than the owner of the checkout.
  writeFileSync(
    config,
    '[safe]\n\tdirectory = *\n[user]\n\tname = test\n\temail = test@localhost\n',
  );
  const git = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    execFileSync('git', args, {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, GIT_CONFIG_GLOBAL: config, ...environment },
    }).trim();
  const index = { GIT_INDEX_FILE: join(directory, 'index') };
  git(['add', '--all'], index);
  const tree = git(['write-tree'], index);
  const commit = git(['commit-tree', tree, '-m', 'the checkout as it is']);
  git(['clone', '--quiet', '--no-checkout', ROOT, clone]);
  git(['-C', clone, 'fetch', '--quiet', ROOT, commit]);
  git(['-C', clone, 'checkout', '--quiet', '--detach', commit]);
  return clone;
}

export function pathOfUser(): readonly string[] {
  return (process.env['PATH'] ?? '').split(':').filter((path) => !path.startsWith(ROOT));
}

/** Arguments of `env`: they would be wrong in the clone. */
export function withoutOurs(): readonly string[] {
  const ours = /^(npm_(?!config_)|npm_config_local_prefix$|INIT_CWD$|NODE_ENV$|JEST_)/;
  const names = Object.keys(process.env).filter((name) => ours.test(name));
  return names.flatMap((name) => ['-u', name]);
}
