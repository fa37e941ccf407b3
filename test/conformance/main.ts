/**
 * `npm run conformance -- FILE…`: runs files of observed behaviour through the product's functions.
 *
 * Prints every failing case with expected and actual answer, and last `N passed, M failed`. Exit status: 0 all
 * passed, 1 some failed, 2 a file could not be run.
 */

import { readFileSync } from 'node:fs';

import { messageOf } from '../../core/errors';
import { runFile } from './run-cases';

async function main(paths: readonly string[]): Promise<number> {
  if (paths.length === 0) {
    process.stderr.write('usage: npm run conformance -- FILE…\n');
    return 2;
  }
  let passed = 0;
  let failed = 0;
  let broken = false;
  for (const path of paths) {
    try {
      const result = await runFile(JSON.parse(readFileSync(path, 'utf8')) as unknown);
      for (const failure of result.failures) process.stdout.write(`${failure}\n`);
      passed += result.passed;
      failed += result.failures.length;
    } catch (error) {
      broken = true;
      process.stderr.write(`${path}: ${messageOf(error)}\n`);
    }
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  if (broken) return 2;
  return failed > 0 ? 1 : 0;
}

void main(process.argv.slice(2)).then((status) => {
  process.exitCode = status;
});
