import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { adoptChild } from '../../tools/processes/watchdog';
import { repositoryRoot } from '../../tools/repository-root';
import type { Assignment, Said, Summary, Told } from './protocol';
import type { Violation } from './violation';

export interface ObserverProcess {
  readonly violations: readonly Violation[];
  /** Statuses get some seconds to follow. */
  rest(): Promise<Summary>;
  /** Without this the observer looks at the old address, and reports that at rest. */
  temporalMoved(address: string): void;
  /** For tests that plant one. */
  nextViolation(): Promise<Violation>;
  /** @throws Error when the observer had died before */
  stop(): Promise<void>;
}

/** Resolves when it watches. @throws Error with its last words when it does not start */
export async function observeInOwnProcess(assignment: Assignment): Promise<ObserverProcess> {
  const main = join(repositoryRoot(), 'dist', 'test', 'observer', 'main.js');
  const child = spawn(process.execPath, [main, JSON.stringify(assignment)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Ctrl-C in the terminal is for the starting process.
    detached: true,
  });
  const disown = child.pid === undefined ? () => undefined : adoptChild(child.pid);
  const hears = new Hears(child.stdout);
  const ended = once(child, 'close').then(([code]) => {
    disown();
    const end = new Error(`the observer ended with ${code}`);
    hears.ended(end);
    return code === 0 ? undefined : end;
  });
  const tell = (told: Told): void => {
    child.stdin.write(`${JSON.stringify(told)}\n`);
  };
  await hears.next((said) => said.kind === 'ready');
  return {
    violations: hears.violations,
    rest: async () => {
      const answer = hears.next((said) => said.kind === 'rest');
      tell({ kind: 'rest' });
      return answer;
    },
    temporalMoved: (address) => tell({ kind: 'temporal moved', address }),
    nextViolation: () => hears.next((said) => said.kind === 'violation'),
    stop: async () => {
      child.stdin.end();
      const failure = await ended;
      if (failure !== undefined) throw failure;
    },
  };
}

interface Listener {
  readonly wants: (said: Said) => boolean;
  readonly hears: (said: Said) => void;
  readonly fails: (error: Error) => void;
}

export class Hears {
  readonly violations: Violation[] = [];
  readonly #listeners = new Set<Listener>();
  #ended: Error | undefined;

  constructor(output: Readable) {
    createInterface({ input: output }).on('line', (line) => {
      const said = wordIn(line);
      if (said === undefined) {
        this.ended(new Error(`the observer was cut off at: ${line.slice(0, 200)}`));
        return;
      }
      if (said.kind === 'violation') this.violations.push(said);
      for (const one of [...this.#listeners]) {
        if (!one.wants(said)) continue;
        this.#listeners.delete(one);
        one.hears(said);
      }
    });
  }

  next<K extends Said>(wants: (said: Said) => said is K): Promise<K> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return new Promise((resolve, reject) => {
      this.#listeners.add({ wants, hears: (said) => resolve(said as K), fails: reject });
    });
  }

  ended(error: Error): void {
    this.#ended = error;
    for (const { fails } of this.#listeners) fails(error);
    this.#listeners.clear();
  }
}

/** Undefined = the process was ended in the middle of the line. */
function wordIn(line: string): Said | undefined {
  try {
    return JSON.parse(line) as Said;
  } catch {
    return undefined;
  }
}
