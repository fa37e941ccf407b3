import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A TypeScript file in its own process, which reports in lines on stdout. */
export interface ScriptProcess {
  readonly pid: number;
  readonly child: ChildProcess;
  /** The next line that starts with this word; fails when the process ends first. */
  line(start: string): Promise<string>;
  /** Ends its stdin; the scripts then go on. */
  goOn(): void;
  kill(): Promise<void>;
  ended(): Promise<number | null>;
}

const running = new Set<ScriptProcess>();

// A failed test must not leave its processes to later tests.
afterEach(async () => {
  await Promise.all([...running].map((script) => script.kill()));
});

/** Starts a script; it is killed after the test unless it has ended. */
export function startScript(path: string, args: readonly string[] = []): ScriptProcess {
  const hook = join(__dirname, 'run-typescript.cjs');
  const child = spawn(process.execPath, ['--require', hook, path, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const seen: string[] = [];
  const waiting = new Set<() => void>();
  const exited = once(child, 'close') as Promise<[number | null]>;
  const wakeAll = (): void => {
    for (const wake of waiting) wake();
  };
  createInterface({ input: child.stdout }).on('line', (line) => {
    seen.push(line);
    wakeAll();
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let over = false;
  void exited.then(() => {
    over = true;
    running.delete(script);
    wakeAll();
  });
  const script: ScriptProcess = {
    pid: child.pid ?? 0,
    child,
    line: async (start) => {
      for (;;) {
        const index = seen.findIndex((line) => line.startsWith(start));
        const [found] = index < 0 ? [] : seen.splice(index, 1);
        if (found !== undefined) return found;
        if (over) throw new Error(`the script ended without saying ${start}: ${errors}`);
        await new Promise<void>((wake) => waiting.add(wake));
      }
    },
    goOn: () => {
      child.stdin.end();
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
    ended: async () => (await exited)[0],
  };
  running.add(script);
  return script;
}
