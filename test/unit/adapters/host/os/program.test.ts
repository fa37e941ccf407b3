import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandOptions, RunCommand } from '../../../../../adapters/host/os/command';
import { createProgramRunner, timeLimitOf } from '../../../../../adapters/host/os/program';

const run = createProgramRunner();
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'program-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

async function program(script: string): Promise<string> {
  const path = join(directory, 'program');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

it('answers what the program printed, and passes words as they are', async () => {
  const words = ['a b', '$(date)', '"', ';'];
  const path = await program('for word in "$@"; do printf "%s\\n" "$word"; done');
  await expect(run(path, words)).resolves.toBe(words.join('\n'));
});

it('quotes the last line of the errors', async () => {
  const path = await program('echo doing it >&2; echo "error: disk full" >&2; echo >&2; exit 3');
  await expect(run(path, ['rebase', 'x'])).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'program rebase: error: disk full (exit status 3)',
  });
});

it('quotes no secret, of its words or of what the program says', async () => {
  const path = await program('echo "error: https://me:secret@registry/v2" >&2; exit 1');
  await expect(run(path, ['kargs', '--append=password=secret'])).rejects.toThrow(
    /^program kargs --append: error: https:\/\/\*\*\*@registry\/v2 \(exit status 1\)$/,
  );
});

it('says when a program said nothing, was killed, or is not there', async () => {
  await expect(run(await program('exit 1'), [])).rejects.toThrow(/said nothing \(exit status 1\)/);
  await expect(run(await program('kill -9 $$'), [])).rejects.toThrow(/killed by SIGKILL/);
  await expect(run(join(directory, 'none'), [])).rejects.toThrow(/is not installed/);
});

it('interrupts the program when the step is cancelled', async () => {
  const path = await program('trap "exit 1" INT; echo started >&3; while :; do sleep 0.05; done');
  const controller = new AbortController();
  const started = run(path, [], {
    signal: controller.signal,
    onProgressLine: () => controller.abort(new Error('superseded')),
  });
  await expect(started).rejects.toThrow('superseded');
  await expect(run(path, [], { signal: controller.signal })).rejects.toThrow('superseded');
});

it('hands over the progress that the program writes to its descriptor 3', async () => {
  const path = await program('echo \'{"bytes":1}\' >&3; echo \'{"bytes":2}\' >&3; echo done');
  const lines: string[] = [];
  await expect(run(path, [], { onProgressLine: (line) => lines.push(line) })).resolves.toBe('done');
  expect(lines).toEqual(['{"bytes":1}', '{"bytes":2}']);
});

it('gives every command a time limit, pulls the longest', async () => {
  const given: (number | undefined)[] = [];
  const recording: RunCommand = (_program, _words, options: CommandOptions = {}) => {
    given.push(options.timeoutMs);
    return Promise.resolve({ status: 0, lines: [], said: '' });
  };
  const limited = createProgramRunner(recording);
  await limited('rpm-ostree', ['status', '--json']);
  await limited('rpm-ostree', ['status', '--json'], { timeoutMs: 5 });
  const minute = 60_000;
  expect(given).toEqual([3 * minute, 5]);
  expect(timeLimitOf('rpm-ostree', ['rebase', '--experimental', 'x'])).toBe(120 * minute);
  expect(timeLimitOf('bootc', ['switch', '--transport', 'registry', 'x'])).toBe(120 * minute);
  expect(timeLimitOf('rpm-ostree', ['kargs', '--lock-finalization'])).toBe(60 * minute);
  expect(timeLimitOf('rpm-ostree', ['kargs', '--deploy-index=0'])).toBe(3 * minute);
  expect(timeLimitOf('ostree', ['admin', 'undeploy', '0'])).toBe(15 * minute);
});

it('ends a program that takes longer', async () => {
  const path = await program('exec sleep 600');
  await expect(run(path, ['status'], { timeoutMs: 50 })).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'program status took longer than 0.05 s',
  });
});
