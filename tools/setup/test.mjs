// `npm test`: what every change has to pass; `npm run test:all`: everything else (test-selection.mjs). Does all its
// own set-up. The closing line counts all suites, and there is one also when the set-up fails: what that keeps from
// running counts as failed.
// `npm test -- unit workflow` runs only those projects; other arguments go to jest, which then chooses the files.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { requireHostPackages, requireUnitPackages } from './host-packages.mjs';
import { runSetUp, stop } from './test-processes.mjs';
import { runProject } from './test-project.mjs';
import { Report } from './test-report.mjs';
import { LANES, selectionOf, wantedBy } from './test-selection.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const NEED_SERVERS = new Set(['replay', 'workflow', 'integration', 'e2e', 'faults', 'hosts']);
/** Some of their tests that only `npm run test:all` runs have Temporal on PostgreSQL. */
const NEED_DATABASE = new Set(['integration', 'faults']);
/** Machines of their own, with root. */
const HOSTS = 'hosts';
/** Real registries, sysroots, mounts and clocks: root, and the same packages. */
const NEED_HOST_PACKAGES = new Set(['integration', 'faults', HOSTS]);

const report = new Report(root);
/** Project → why it cannot run. The other projects run. */
const obstacles = new Map();
const { parts, write, all } = chosen();
const projects = [...new Set(parts.flatMap((part) => [...part.keys()]))];

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
const standIns = servers.then(prepareDatabase).then(prepareStandIns);
const machines = standIns.then(prepareMachines);
try {
  for (const part of parts) await runPart(part);
} catch (error) {
  report.fail(`the tests were not run: ${error.message}`);
  stop();
}
await machines;
if (write) report.writeSeconds();
report.say();
process.exit(report.failed > 0 ? 1 : 0);

function chosen() {
  try {
    const wanted = wantedBy(process.argv.slice(2));
    return { parts: selectionOf(root, wanted), write: wanted.write, all: wanted.all };
  } catch (error) {
    report.fail(error.message);
    return { parts: [], write: false, all: false };
  }
}

/** Binaries first, so that no test's own time limit includes a build. */
async function prepareServers() {
  await prepare(NEED_SERVERS, 'the development servers are not there', ['dist/tools/fetch.js']);
}

/** Without it, the few tests of Temporal on PostgreSQL fail, and this says why. */
async function prepareDatabase() {
  if (!all || !projects.some((name) => NEED_DATABASE.has(name))) return;
  const programs = ['temporal-server', 'temporal-sql-tool', 'postgresql'];
  await runSetUp(root, ['dist/tools/fetch.js', ...programs]);
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
  if (all) {
    const archive = ['tools/setup/host-archive.mjs'];
    await prepare([HOSTS], 'the host worker was not packed', archive);
    await prepare([HOSTS], 'crictl is not there', ['dist/tools/fetch.js', 'crictl']);
  }
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

/** @param {Map<string, readonly string[]>} part - project → arguments of jest */
async function runPart(part) {
  const lanes = LANES.map((lane) => lane.filter((name) => part.has(name)));
  const alone = lanes.filter((lane) => lane.length > 0).length < 2;
  const directory = mkdtempSync(join(tmpdir(), 'slipway-test-'));
  try {
    await Promise.all(lanes.map((lane) => runLane(lane, part, { directory, alone })));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function runLane(lane, part, { directory, alone }) {
  for (const name of lane) {
    await untilPrepared(name);
    const obstacle = obstacles.get(name);
    if (obstacle !== undefined) {
      report.fail(`${name} tests were not run: ${obstacle}`);
      continue;
    }
    const outputFile = join(directory, `${name}.json`);
    try {
      const status = await runProject({ root, name, outputFile, rest: part.get(name), alone });
      report.count(name, outputFile, status);
    } catch (error) {
      // The other lanes go on, and are counted.
      report.fail(`${name} tests were not run to their end: ${error.message}`);
    }
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
