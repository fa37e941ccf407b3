/** Programs of the operating system that do not end in time: these tests wait as long as a busy machine needs. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type CommandOptions } from '../../../../adapters/host/os/command';

const run = (script: string, options: CommandOptions) =>
  runCommand(process.execPath, ['-e', script], options);

it('asks harder when a program does not end', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-command-'));
  const asked = join(directory, 'asked');
  // Ends at SIGTERM and not at SIGINT, so the result does not depend on how busy the machine is.
  const script = `
    const note = (name) => require('fs').appendFileSync(${JSON.stringify(asked)}, name + ' ');
    process.on('SIGINT', note);
    process.on('SIGTERM', (name) => { note(name); process.exit(0); });
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const abort = new AbortController();
  const reason = new Error('cancelled');
  const onLine = (): void => abort.abort(reason);
  try {
    const options = { signal: abort.signal, graceMs: 1_500, onLine };
    await expect(run(script, options)).rejects.toBe(reason);
    expect(await readFile(asked, 'utf8')).toBe('SIGINT SIGTERM ');
  } finally {
    await rm(directory, { recursive: true });
  }
}, 30_000);

it('does not wait for what a program left behind with its output', async () => {
  const script = `
    const { spawn } = require('child_process');
    const left = spawn('sleep', ['600'], { stdio: ['ignore', 'inherit', 'ignore'], detached: true });
    console.log(left.pid);
    left.unref();`;
  let left = 0;
  const onLine = (line: string): void => void (left = Number(line));
  try {
    await expect(run(script, { timeoutMs: 1_500, onLine })).rejects.toThrow(
      'took longer than 1.5 s',
    );
  } finally {
    if (left > 0) process.kill(left, 'SIGKILL');
  }
});
