// Compiles the sources to dist/ (incremental) and bundles the workflows. `--quiet` prints only failures and slow
// steps.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const started = Date.now();
const quiet = process.argv.includes('--quiet');
if (!existsSync(join(root, 'dist'))) process.stderr.write('slipway: compiling …\n');

const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const compile = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: ['ignore', 2, 2],
});
if (compile.status !== 0) process.exit(compile.status ?? 1);

const bundle = spawnSync(
  process.execPath,
  [join(root, 'dist', 'tools', 'workflow-bundle.js'), join(root, 'dist', 'workflow-bundle.js')],
  { cwd: root, stdio: ['ignore', 2, 2] },
);
if (bundle.status !== 0) process.exit(bundle.status ?? 1);
if (!quiet)
  process.stderr.write(`slipway: built in ${Math.round((Date.now() - started) / 1000)} s\n`);
