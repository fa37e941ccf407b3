// The last words of a run of tests: the slowest tests, and how many passed and failed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { secondsOf } from './test-selection.mjs';

/** Of each project. */
const SLOWEST = 3;
/** Those that nobody minds are not named. */
const WORTH_NAMING_MS = 1_000;

/** Adds up what jest has left of each project. */
export class Report {
  #totals = { passed: 0, failed: 0, skipped: 0 };
  /** Project → its tests. */
  #tests = new Map();
  /** File → seconds. */
  #seconds = {};

  constructor(root) {
    this.root = root;
  }

  get failed() {
    return this.#totals.failed;
  }

  fail(sentence) {
    process.stderr.write(`\nslipway: ${sentence}\n`);
    this.#totals.failed += 1;
  }

  /** @param outputFile - jest's results of one project */
  count(project, outputFile, status) {
    let results;
    try {
      results = JSON.parse(readFileSync(outputFile, 'utf8'));
    } catch (error) {
      this.fail(`jest left no results for ${project}: ${error.message}`);
      return;
    }
    this.#totals.passed += results.numPassedTests;
    this.#totals.skipped += results.numPendingTests + results.numTodoTests;
    // A suite that does not even load has no failed tests of its own.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    this.#totals.failed += failed === 0 && status !== 0 ? 1 : failed;
    for (const { name, startTime, endTime, assertionResults } of results.testResults ?? []) {
      const file = relative(this.root, name);
      this.#seconds[file] = Math.ceil((endTime - startTime) / 1000);
      const tests = assertionResults.map(({ fullName, duration }) => ({
        file,
        fullName,
        ms: duration ?? 0,
      }));
      this.#tests.set(project, [...(this.#tests.get(project) ?? []), ...tests]);
    }
  }

  /** The closing line is the last one. */
  say() {
    const slow = [...this.#tests].flatMap(([, tests]) =>
      tests
        .filter(({ ms }) => ms >= WORTH_NAMING_MS)
        .sort((a, b) => b.ms - a.ms)
        .slice(0, SLOWEST),
    );
    if (slow.length > 0) process.stdout.write('\nThe slowest tests of each project:\n');
    for (const { ms, file, fullName } of slow) {
      const seconds = (ms / 1000).toFixed(1).padStart(7);
      process.stdout.write(`${seconds} s  ${file}: ${fullName}\n`);
    }
    const { passed, failed, skipped } = this.#totals;
    if (skipped > 0) process.stdout.write(`\n${skipped} skipped`);
    process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
  }

  /** Notes how long each file took that ran; parts are dealt by that. */
  writeSeconds() {
    const known = { ...secondsOf(this.root), ...this.#seconds };
    const sorted = Object.fromEntries(Object.entries(known).sort(([a], [b]) => (a < b ? -1 : 1)));
    const path = join(this.root, 'tools', 'setup', 'test-seconds.json');
    writeFileSync(path, `${JSON.stringify(sorted, undefined, 2)}\n`);
  }
}
