import { messageOf } from '../../core/errors';
import { describeDifference, differences } from './difference';
import type { ConformanceCase } from './kind';
import { kindOf } from './kinds';

interface FileResult {
  readonly passed: number;
  readonly failures: readonly string[];
}

/** Runs all cases of a file in order. Throws when the file is of no known kind. */
export async function runFile(file: unknown): Promise<FileResult> {
  const cases = kindOf(file).cases(file);
  const failures: string[] = [];
  for (const testCase of cases) {
    const failure = await failureOf(testCase);
    if (failure !== undefined) failures.push(failure);
  }
  return { passed: cases.length - failures.length, failures };
}

async function failureOf(testCase: ConformanceCase): Promise<string | undefined> {
  try {
    const { expected, actual } = await testCase.run();
    const found = differences(expected, actual);
    if (found.length === 0) return undefined;
    return [`FAIL ${testCase.name}`, ...found.map(describeDifference)].join('\n');
  } catch (error) {
    return `FAIL ${testCase.name}\n  threw ${messageOf(error)}`;
  }
}
