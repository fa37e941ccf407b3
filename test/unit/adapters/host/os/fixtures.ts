/** Outputs of rpm-ostree and bootc, and a runner that answers with them and records the commands. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramOptions, RunProgram } from '../../../../../adapters/host/os/program';
import { fail } from '../../../../../core/errors';
import type { StepContext } from '../../../../../adapters/host/os/os-status';

const FIXTURES = join(__dirname, '../../../../fixtures/os');

/** @param name - such as `rpm-ostree/2023.3-staged-locked.json` */
export function fixture(name: string): string {
  return readFileSync(join(FIXTURES, name), 'utf8');
}

export const context: StepContext = {
  signal: new AbortController().signal,
  progress: () => undefined,
};

export const digest = (character: string): string => `sha256:${character.repeat(64)}`;

/** A function is called each time, so it can follow changes by other commands. */
type Answer = string | Error | (() => string);

/** Answers by command line; the last answer of a list repeats. */
export function createScriptedRunner(
  answers: Readonly<Record<string, Answer | readonly Answer[]>>,
): { readonly run: RunProgram; readonly calls: string[] } {
  const calls: string[] = [];
  const used = new Map<string, number>();
  const run = async (
    program: string,
    words: readonly string[],
    options?: ProgramOptions,
  ): Promise<string> => {
    const line = [program, ...words].join(' ');
    calls.push(line);
    const key = Object.keys(answers)
      .filter((start) => line.startsWith(start))
      .sort((a, b) => b.length - a.length)[0];
    const answer = key === undefined ? '' : next(key, answers[key] ?? '');
    options?.signal?.throwIfAborted();
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer() : answer;
  };

  function next(key: string, answer: Answer | readonly Answer[]): Answer {
    if (!Array.isArray(answer)) return answer as Answer;
    const turn = used.get(key) ?? 0;
    used.set(key, turn + 1);
    return (answer as readonly Answer[])[Math.min(turn, answer.length - 1)] ?? '';
  }
  return { run, calls };
}

export const commandFailure = (message: string): Error => fail('OsCommandFailed', message);

export function changes(calls: readonly string[]): readonly string[] {
  const asks = [/^skopeo inspect/, / status /, / --version$/, / kargs --deploy-index/];
  return calls.filter((call) => !asks.some((ask) => ask.test(call)));
}

export function failureOf(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}
