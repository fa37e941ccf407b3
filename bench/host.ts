/**
 * `npm run bench -- host`: cost of an update on a machine: undo journal, pulled bytes, host worker.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { repositoryRoot } from '../tools/repository-root';
import { type HostJournalOptions, type HostJournalResult, runJournalBench } from './host-journal';
import type { HostMachineResult } from './host-machine';

interface HostBenchOptions extends HostJournalOptions {
  /** 0 = only the journal, which needs no root. */
  readonly updates: number;
  readonly onStep: (text: string) => void;
}

interface HostBenchResult {
  readonly name: 'host';
  readonly journal: HostJournalResult;
  readonly machine?: HostMachineResult;
}

/** @throws Error with one sentence that names what real machines need here and lack */
export async function runHostBench(options: HostBenchOptions): Promise<HostBenchResult> {
  const { updates, onStep } = options;
  // Fails at once, not after a minute of measuring.
  if (updates > 0) requireRoot();
  onStep('the undo journal');
  const journal = await runJournalBench(options);
  if (updates === 0) return { name: 'host', journal };
  onStep('a machine that boots: the first time, its operating system is built, for some minutes');
  return { name: 'host', journal, machine: await runMachine(updates) };
}

function requireRoot(): void {
  if (process.platform === 'linux' && process.getuid?.() === 0) return;
  throw new Error(
    'updates of a machine that boots need Linux and root: it runs in a container with its own ' +
      'network and disk; run it with sudo, or measure the undo journal alone with --updates 0',
  );
}

/** In its own process, because it runs in other namespaces. */
async function runMachine(updates: number): Promise<HostMachineResult> {
  const root = repositoryRoot();
  const words = ['tools/setup/on-hosts.mjs', 'dist/bench/host-machine.js', String(updates)];
  const child = spawn(process.execPath, words, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const printed = await text(child.stdout);
  const [status] = await ended;
  if (status === 0) return JSON.parse(printed) as HostMachineResult;
  throw new Error(`${join(root, words[1] ?? '')} ended with ${status}; its output stands above`);
}
