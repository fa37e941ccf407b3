// `npm test`: everything, cheapest first; does all its own set-up. The closing line counts all suites,
// and there is one also when the set-up fails: what that keeps from running counts as failed.
// `npm test -- unit workflow` runs only those projects; other arguments go to jest.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireHostPackages, requireUnitPackages } from './host-packages.mjs';
import { runSetUp, stop } from './test-processes.mjs';
import { runProject } from './test-project.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
/**
 * One at a time of each lane: what computes, what starts clusters and mostly waits for them, and
 * machines, which take less than half of one core of two while they boot, wait and are cut off.
 * The first lane begins with what needs no servers, the second with what needs no more than those: on a new machine
 * the rest is fetched and built meanwhile.
 */
const LANES = [
  ['unit', 'simulation', 'workflow', 'replay', 'integration'],
  ['e2e', 'faults'],
  ['hosts'],
];
const NEED_SERVERS = new Set(['replay', 'workflow', 'integration', 'e2e', 'faults', 'hosts']);
/** Machines of their own, with root. */
const HOSTS = 'hosts';
/**
 * Files that wait more than they compute (for machines that are cut off, and for updates that are cancelled at each
 * step), and would make theirs the longest lanes: where everything is run, they are one more.
 */
const APART = new Map([
  [HOSTS, 'test/hosts/network'],
  ['faults', 'test/faults/cancel'],
]);
/** Real registries, sysroots, mounts and clocks: root, and the same packages. */
const NEED_HOST_PACKAGES = new Set(['integration', 'faults', HOSTS]);

const known = LANES.flat();
const wanted = process.argv.slice(2).filter((argument) => known.includes(argument));
const rest = process.argv.slice(2).filter((argument) => !known.includes(argument));
const lanes = LANES.map((lane) =>
  lane.filter((name) => wanted.length === 0 || wanted.includes(name)),
);
const projects = lanes.flat();
const alone = lanes.filter((lane) => lane.length > 0).length < 2;
const isSplit = !alone && rest.length === 0;

/** Project → why it cannot run. The other projects run. */
const obstacles = new Map();
const totals = { passed: 0, failed: 0, skipped: 0 };

// At once, not after a quarter of an hour of other tests; it is counted as a failure at the end.
const needHosts = projects.some((name) => NEED_HOST_PACKAGES.has(name));
const noHosts = needHosts ? whatLacks(requireHostPackages) : undefined;
if (noHosts !== undefined) {
  process.stderr.write(`slipway: ${noHosts}\n`);
  obstacles.set(HOSTS, noHosts);
}
const noUnits = projects.includes('unit') ? whatLacks(requireUnitPackages) : undefined;
// They run all the same: those that need it fail, and this is why.
if (noUnits !== undefined) process.stderr.write(`slipway: ${noUnits}\n`);

await prepare(projects, 'the build failed', ['tools/setup/build.mjs', '--quiet']);
const servers = prepareServers();
const standIns = servers.then(prepareStandIns);
const machines = standIns.then(prepareMachines);
try {
  await runProjects();
} catch (error) {
  fail(`the tests were not run: ${error.message}`);
  stop();
}
await machines;
if (totals.skipped > 0) process.stdout.write(`\n${totals.skipped} skipped`);
process.stdout.write(`\n${totals.passed} passed, ${totals.failed} failed\n`);
process.exit(totals.failed > 0 ? 1 : 0);

/** Binaries first, so that no test's own time limit includes a build. */
async function prepareServers() {
  await prepare(NEED_SERVERS, 'the development servers are not there', ['dist/tools/fetch.js']);
}

async function prepareStandIns() {
  if (noHosts !== undefined) return;
  const validators = ['ignition', 'ignition-validate', 'ignition-validate-2'];
  await prepare(NEED_HOST_PACKAGES, 'Ignition is not there', [
    'dist/tools/fetch.js',
    ...validators,
  ]);
  const standin = ['dist/test/hosts/standin/main.js'];
  await prepare(NEED_HOST_PACKAGES, 'the stand-ins of the machines are not there', standin);
}

async function prepareMachines() {
  await prepare([HOSTS], 'the host worker was not bundled', ['tools/setup/host-bundle.mjs']);
  const images = ['dist/test/hosts/build/main.js'];
  await prepare([HOSTS], 'the images of the machines are not there', images);
}

/** One step of the set-up. Projects that need it do not run without it, and count as failed. */
async function prepare(names, failure, args) {
  const those = [...names].filter((name) => projects.includes(name) && !obstacles.has(name));
  if (those.length === 0) return;
  const why = await runSetUp(root, args);
  if (why === undefined) return;
  for (const name of those) obstacles.set(name, `${failure} (${why})`);
}

/** Resolves once all that a project needs is there, or is among its obstacles. */
async function untilPrepared(name) {
  if (NEED_SERVERS.has(name)) await servers;
  if (NEED_HOST_PACKAGES.has(name)) await standIns;
  if (name === HOSTS) await machines;
}

async function runProjects() {
  const directory = mkdtempSync(join(tmpdir(), 'slipway-test-'));
  try {
    await Promise.all([...lanes.map(jobsOf), jobsApart()].map((jobs) => runLane(jobs, directory)));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function jobsOf(lane) {
  return lane.map((name) => {
    const apart = isSplit ? APART.get(name) : undefined;
    return { title: name, name, rest: apart ? ['--testPathIgnorePatterns', apart] : rest };
  });
}

function jobsApart() {
  if (!isSplit) return [];
  return [...APART]
    .filter(([name]) => projects.includes(name))
    .map(([name, path]) => ({
      title: `${name} ${path}`,
      name,
      rest: ['--testPathPatterns', path],
    }));
}

async function runLane(jobs, directory) {
  for (const job of jobs) {
    await untilPrepared(job.name);
    const obstacle = obstacles.get(job.name);
    if (obstacle !== undefined) {
      fail(`${job.title} tests were not run: ${obstacle}`);
      continue;
    }
    const outputFile = join(directory, `${job.title.replaceAll('/', '-')}.json`);
    try {
      count(job.title, outputFile, await runProject({ root, ...job, outputFile, alone }));
    } catch (error) {
      // The other lanes go on, and are counted.
      fail(`${job.title} tests were not run to their end: ${error.message}`);
    }
  }
}

function fail(sentence) {
  process.stderr.write(`\nslipway: ${sentence}\n`);
  totals.failed += 1;
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
    fail(`jest left no results for ${name}: ${error.message}`);
    return;
  }
  totals.passed += results.numPassedTests;
  totals.skipped += results.numPendingTests + results.numTodoTests;
  // A suite that does not load has no failed tests of its own.
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  totals.failed += failed === 0 && status !== 0 ? 1 : failed;
}
