// The fast gate: format, lint and layers, types, build with the workflow bundle, unit and replay
// tests, generated files clean, links in the documents. Stops at the first failure.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireUnitPackages } from './host-packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bin = (name) => join(root, 'node_modules', '.bin', name);

const steps = [
  ['format', bin('prettier'), ['--check', '--log-level', 'warn', '.']],
  ['lint', bin('eslint'), ['--max-warnings', '0', '.']],
  [
    'layers',
    bin('depcruise'),
    [
      '--config',
      '.dependency-cruiser.cjs',
      '--output-type',
      'err',
      'core',
      'workflows',
      'activities',
      'adapters',
      'controllers',
      'server',
      'workers',
      'cli',
      'tools',
      'bench',
    ],
  ],
  ['types', bin('tsc'), ['-p', 'tsconfig.json']],
  ['types in the sandbox', bin('tsc'), ['-p', 'tsconfig.sandbox.json']],
  ['build and workflow bundle', process.execPath, ['tools/setup/build.mjs', '--quiet']],
  ['unit and replay tests', bin('jest'), ['--selectProjects', 'unit', 'replay', '--silent']],
  ['generated files', process.execPath, ['dist/tools/generate/main.js', '--check']],
  ['links in documents', process.execPath, ['tools/setup/doc-links.mjs']],
];

try {
  requireUnitPackages();
} catch (error) {
  // All else is checked all the same; the tests that need them fail, and this is why.
  process.stderr.write(`slipway: ${error.message}\n`);
}

for (const [name, command, args] of steps) {
  const started = Date.now();
  process.stdout.write(`verify: ${name} … `);
  const run = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (run.status !== 0) {
    process.stdout.write(`failed after ${seconds} s\n`);
    process.stdout.write(`${run.stdout ?? ''}${run.stderr ?? ''}${run.error?.message ?? ''}\n`);
    process.exit(run.status || 1);
  }
  process.stdout.write(`ok (${seconds} s)\n`);
}
