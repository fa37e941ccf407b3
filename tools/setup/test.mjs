// `npm test`: everything, cheapest first; does all its own set-up. The closing line counts all suites.
// `npm test -- unit workflow` runs only those projects; other arguments go to jest.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const PROJECTS = ['unit', 'replay', 'workflow', 'integration', 'e2e'];
const NEED_SERVERS = new Set(['workflow', 'integration', 'e2e']);
/** One after the other: these start whole clusters, and two cores serve one well. */
const IN_BAND = new Set(['integration', 'e2e']);

const wanted = process.argv.slice(2).filter((argument) => PROJECTS.includes(argument));
const rest = process.argv.slice(2).filter((argument) => !PROJECTS.includes(argument));
const projects = PROJECTS.filter((name) => wanted.length === 0 || wanted.includes(name));

function step(command, args) {
  const run = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

step(process.execPath, ['tools/setup/build.mjs', '--quiet']);
// Binaries first, so that no test's own time limit pays for a build.
if (projects.some((name) => NEED_SERVERS.has(name)))
  step(process.execPath, ['dist/tools/fetch.js']);

const directory = mkdtempSync(join(tmpdir(), 'slipway-test-'));
const totals = { passed: 0, failed: 0, skipped: 0 };
try {
  for (const name of projects) {
    const outputFile = join(directory, `${name}.json`);
    const args = ['--selectProjects', name, '--json', `--outputFile=${outputFile}`, ...rest];
    if (IN_BAND.has(name)) args.push('--runInBand');
    const started = Date.now();
    process.stdout.write(`\n== ${name} tests\n`);
    const run = spawnSync(join(root, 'node_modules', '.bin', 'jest'), args, {
      cwd: root,
      // `--json` also prints the results to standard output; the human report goes to standard error.
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    count(name, outputFile, run.status);
    process.stdout.write(`== ${name}: ${Math.round((Date.now() - started) / 1000)} s\n`);
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

function count(name, outputFile, status) {
  let results;
  try {
    results = JSON.parse(readFileSync(outputFile, 'utf8'));
  } catch (error) {
    process.stderr.write(`slipway: jest left no results for ${name}: ${error.message}\n`);
    totals.failed += 1;
    return;
  }
  totals.passed += results.numPassedTests;
  totals.skipped += results.numPendingTests + results.numTodoTests;
  // A suite that does not even load has no failed tests of its own.
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  totals.failed += failed === 0 && status !== 0 ? 1 : failed;
}

const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : '';
process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed${skipped}\n`);
process.exit(totals.failed > 0 ? 1 : 0);
