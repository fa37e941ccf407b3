// The fast gate: format, lint and layers, types, build with the workflow bundle, unit tests,
// generated files clean, links in the documents. Starts nothing more after the first failure.
// `--without-tests` is for runs before `npm test`, which has the same tests.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { requireUnitPackages } from './host-packages.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const bin = (name) => join(root, 'node_modules', '.bin', name);

const withTests = !process.argv.includes('--without-tests');

const lint = ['lint', bin('eslint'), ['--max-warnings', '0', '.']];
const format = ['format', bin('prettier'), ['--check', '--log-level', 'warn', '.']];
const layers = [
  'layers',
  bin('depcruise'),
  [
    '--config',
    '.dependency-cruiser.cjs',
    '--output-type',
    'err',
    'core',
    'workflows',
    'host',
    'activities',
    'adapters',
    'process',
    'controllers',
    'server',
    'workers',
    'cli',
    'tools',
    'bench',
    'demo',
  ],
];
const types = ['types', bin('tsc'), ['-p', 'tsconfig.json']];
const sandbox = ['types in the sandbox', bin('tsc'), ['-p', 'tsconfig.sandbox.json']];
const build = ['build and workflow bundle', process.execPath, ['tools/setup/build.mjs', '--quiet']];
// Uses both cores by itself.
const tests = ['unit tests', bin('jest'), ['--selectProjects', 'unit', '--silent']];
const generated = ['generated files', process.execPath, ['dist/tools/generate/main.js', '--check']];
const links = ['links in documents', process.execPath, ['tools/setup/doc-links.mjs']];

/** One core each, of about the same length. They read the sources, and none writes what another reads. */
const SIDE_BY_SIDE = [[lint], [format, layers, types, sandbox]];
const ONE_BY_ONE = [build, ...(withTests ? [tests] : []), generated, links];

if (withTests) {
  try {
    requireUnitPackages();
  } catch (error) {
    // All else is checked all the same; the tests that need them fail, and this is why.
    process.stderr.write(`slipway: ${error.message}\n`);
  }
}

await Promise.all(SIDE_BY_SIDE.map(runSteps));
await runSteps(ONE_BY_ONE);

async function runSteps(steps) {
  for (const step of steps) {
    // One that failed beside it has said so.
    if (process.exitCode) return;
    await runStep(step);
  }
}

async function runStep([name, command, args]) {
  const started = Date.now();
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: 1, why: error.message }));
    child.once('close', (status, signal) =>
      resolve({ status, why: signal === null ? '' : `ended by ${signal}` }),
    );
  });
  const [out, err, { status, why }] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    ended,
  ]);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (status === 0) {
    process.stdout.write(`verify: ${name} … ok (${seconds} s)\n`);
    return;
  }
  process.stdout.write(`verify: ${name} … failed after ${seconds} s\n${out}${err}${why}\n`);
  process.exitCode = status || 1;
}
