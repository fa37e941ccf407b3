// `node tools/setup/on-hosts.mjs PROGRAM ARGUMENTS…`: prepares for machines, then runs a program of
// dist/ in its own namespaces. Standard output is the program's.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireHostPackages } from './host-packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

try {
  requireHostPackages();
} catch (error) {
  process.stderr.write(`slipway: ${error.message}\n`);
  process.exit(1);
}

function step(command, args, output = process.stderr.fd) {
  const run = spawnSync(command, args, { cwd: root, stdio: ['inherit', output, 'inherit'] });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

step(process.execPath, ['dist/tools/fetch.js']);
step(process.execPath, ['tools/setup/host-bundle.mjs']);
step(process.execPath, ['dist/test/hosts/build/main.js']);
step('tools/setup/in-namespace.sh', [process.execPath, ...process.argv.slice(2)], 'inherit');
