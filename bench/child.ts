/** Processes of a benchmark that answer one question at a time. */

import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export function startChild(file: string): ChildProcess {
  return fork(join(__dirname, file), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}

/** @throws Error when the process ends instead */
export async function answerTo<T>(process: ChildProcess, message: object | string): Promise<T> {
  const failed = new AbortController();
  process.send(message);
  const [kind, answer] = await Promise.race([
    once(process, 'message', failed).then(([value]) => ['message', value as T] as const),
    once(process, 'exit', failed).then(([code]) => ['exit', code as number] as const),
  ]);
  failed.abort();
  if (kind === 'message') return answer;
  throw new Error(`a process of the benchmark ended with code ${answer}`);
}
