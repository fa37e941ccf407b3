// `npm test`: everything, cheapest first; does all its own set-up. The closing line counts all suites.
// `npm test -- unit workflow` runs only those projects; other arguments go to jest.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireHostPackages, requireUnitPackages } from './host-packages.mjs';
import { runProject } from './test-project.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
/**
 * Two at a time, one of each lane: whole clusters mostly wait, and what computes mostly does not.
 * Two files that start clusters at once is as much as two cores serve well.
 */
const LANES = [
  ['unit', 'replay', 'workflow', 'simulation', 'hosts'],
  ['integration', 'e2e', 'faults'],
];
const NEED_SERVERS = new Set(['workflow', 'integration', 'e2e', 'faults', 'hosts']);
/** Machines of their own, with root. */
const HOSTS = 'hosts';
/** Real registries, sysroots, mounts and clocks: root, and the same packages. */
const NEED_HOST_PACKAGES = new Set(['integration', 'faults', HOSTS]);

const known = LANES.flat();
const wanted = process.argv.slice(2).filter((argument) => known.includes(argument));
const rest = process.argv.slice(2).filter((argument) => !known.includes(argument));
const lanes = LANES.map((lane) =>
  lane.filter((name) => wanted.length === 0 || wanted.includes(name)),
);
const projects = lanes.flat();
const alone = lanes.some((lane) => lane.length === 0);

function step(command, args) {
  const run = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (run.status !== 0) process.exit(run.status ?? 1);
}

// At once, not after a quarter of an hour of other tests; it is counted as a failure at the end.
const needHosts = projects.some((name) => NEED_HOST_PACKAGES.has(name));
const noHosts = needHosts ? whatLacks(requireHostPackages) : undefined;
if (noHosts !== undefined) process.stderr.write(`slipway: ${noHosts}\n`);
const noUnits = projects.includes('unit') ? whatLacks(requireUnitPackages) : undefined;
// They run all the same: those that need it fail, and this is why.
if (noUnits !== undefined) process.stderr.write(`slipway: ${noUnits}\n`);

step(process.execPath, ['tools/setup/build.mjs', '--quiet']);
// Binaries first, so that no test's own time limit pays for a build.
if (projects.some((name) => NEED_SERVERS.has(name)))
  step(process.execPath, ['dist/tools/fetch.js']);
if (needHosts && noHosts === undefined) {
  const validators = ['ignition-validate', 'ignition-validate-2'];
  step(process.execPath, ['dist/tools/fetch.js', 'ignition', ...validators]);
  step(process.execPath, ['dist/test/hosts/standin/main.js']);
}
if (projects.includes(HOSTS) && noHosts === undefined) {
  step(process.execPath, ['tools/setup/host-bundle.mjs']);
  step(process.execPath, ['dist/test/hosts/build/main.js']);
}

const directory = mkdtempSync(join(tmpdir(), 'slipway-test-'));
const totals = { passed: 0, failed: 0, skipped: 0 };
try {
  await Promise.all(lanes.map(runLane));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function runLane(lane) {
  for (const name of lane) {
    if (name === HOSTS && noHosts !== undefined) {
      process.stderr.write(`\n== hosts tests\nslipway: ${noHosts}\n`);
      totals.failed += 1;
      continue;
    }
    const outputFile = join(directory, `${name}.json`);
    count(name, outputFile, await runProject({ root, name, outputFile, rest, alone }));
  }
}

/** One sentence; undefined when nothing is missing. */
function whatLacks(require) {
  try {
    require();
    return undefined;
  } catch (error) {
    return error.message;
  }
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
