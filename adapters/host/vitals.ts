import { readFile } from 'node:fs/promises';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fail, messageOf } from '../../core/errors';
import { splitKernelArguments } from '../../core/os';
import { readBootId } from './os/boot-id';
import type { StepContext } from './os/os-status';

interface VitalsOptions {
  /** Of the running kernel; absent: not compared. */
  readonly commandLineFile?: string;
  /** `http://127.0.0.1:10248/healthz`; absent: not asked. */
  readonly kubeletHealthUrl?: string;
  readonly kubeletHealthSeconds: number;
  readonly pollMs?: number;
}

const ANSWER_MS = 5_000;

export function createVitals(options: VitalsOptions) {
  const { commandLineFile, kubeletHealthUrl, kubeletHealthSeconds, pollMs = 1_000 } = options;
  return {
    bootId: () => readBootId(),
    async commandLine(): Promise<readonly string[] | undefined> {
      if (commandLineFile === undefined) return undefined;
      return splitKernelArguments([(await readFile(commandLineFile, 'utf8')).trim()]);
    },
    async kubeletHealthy({ signal, progress }: StepContext): Promise<void> {
      if (kubeletHealthUrl === undefined) return;
      const deadline = performance.now() + kubeletHealthSeconds * 1000;
      for (;;) {
        const problem = await askKubelet(kubeletHealthUrl, signal);
        if (problem === undefined) return;
        signal.throwIfAborted();
        progress(`waiting for the kubelet: ${problem}`);
        if (performance.now() >= deadline) {
          throw fail(
            'VerifyFailed',
            `the kubelet is not healthy after ${kubeletHealthSeconds} s: ${problem}`,
          );
        }
        await delay(pollMs, undefined, { signal });
      }
    },
  };
}

function askKubelet(url: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = get(url, { agent: false, timeout: ANSWER_MS, signal }, (answer) => {
      answer.resume();
      answer.on('end', () => {
        resolve(answer.statusCode === 200 ? undefined : `${url} answers ${answer.statusCode}`);
      });
      answer.on('error', (error) => resolve(messageOf(error)));
    });
    asked.on('timeout', () => asked.destroy(new Error(`${url} does not answer`)));
    asked.on('error', (error) => resolve(messageOf(error)));
  });
}
