// Installs the locked dependencies when node_modules is missing or older than the lock file. Plain
// Node without imports from npm, because it runs first. With `--closing-line` a failure ends with
// the closing line of failed tests.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const stamp = join(root, 'node_modules', '.cache', 'slipway', 'installed-lockfile');
const digest = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== digest) {
  const started = Date.now();
  process.stderr.write('slipway: installing npm dependencies (npm ci) …\n');
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (npm.error || npm.status !== 0) {
    process.stderr.write(
      `slipway: npm ci failed (${npm.error?.message ?? `exit status ${npm.status}`}); ` +
        'check the network and the registry, then run the command again\n',
    );
    if (process.argv.includes('--closing-line')) process.stdout.write('\n0 passed, 1 failed\n');
    process.exit(1);
  }
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, digest);
  process.stderr.write(
    `slipway: npm dependencies installed in ${Math.round((Date.now() - started) / 1000)} s\n`,
  );
}
