import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  failed,
  lastJson,
  runCommand,
  withoutCredentials,
  type CommandOptions,
} from '../../../../../adapters/host/os/command';

const run = (script: string, options?: CommandOptions) =>
  runCommand(process.execPath, ['-e', script], options);

const json = async (script: string): Promise<unknown> => {
  const end = await run(script);
  if (end.status !== 0) throw failed(process.execPath, [], end);
  return lastJson(process.execPath, [], end);
};

it('gives lines as they come, and all of them at the end', async () => {
  const seen: string[] = [];
  const end = await run('console.log("one\\n\\ntwo")', { onLine: (line) => seen.push(line) });
  expect(end).toEqual({ status: 0, lines: ['one', 'two'], said: '' });
  expect(seen).toEqual(['one', 'two']);
});

it('reads the last line as JSON', async () => {
  await expect(json('console.log("first"); console.log(JSON.stringify({a: 1}))')).resolves.toEqual({
    a: 1,
  });
});

it('takes arguments as they are, not as a shell would', async () => {
  const word = '$(id) `id` "; exit 3';
  const end = await runCommand(process.execPath, ['-p', 'process.argv[1]', word]);
  expect(end.lines).toEqual([word]);
});

it.each([
  {
    name: 'ends with a status',
    script: 'console.error("first\\nlast word"); process.exit(3)',
    message: 'node: last word (exit status 3)',
  },
  {
    name: 'says nothing',
    script: 'process.exit(1)',
    message: 'node: it said nothing (exit status 1)',
  },
  {
    name: 'is killed',
    script: 'process.kill(process.pid, "SIGKILL")',
    message: 'node: it said nothing (killed by SIGKILL)',
  },
  {
    name: 'prints something else',
    script: 'console.log("Deployments:")',
    message: "node did not print JSON but 'Deployments:'",
  },
  {
    name: 'quotes a password',
    script: 'console.error("GET https://me:geheim@host/v2 failed"); process.exit(1)',
    message: 'node: GET https://***@host/v2 failed (exit status 1)',
  },
])('names a program that $name', async ({ script, message }) => {
  await expect(json(script)).rejects.toMatchObject({ name: 'OsCommandFailed', message });
});

it('says that a program is not installed', async () => {
  await expect(runCommand('/nowhere/slipway-ostree', [])).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: '/nowhere/slipway-ostree is not installed',
  });
});

it('quotes no argument that cannot be given to a program', async () => {
  await expect(runCommand('rpm-ostree', ['kargs', '--append=a=geheim\0'])).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'rpm-ostree kargs --append cannot be started (ERR_INVALID_ARG_VALUE)',
  });
});

it('ends a program that takes too long', async () => {
  await expect(run('setInterval(() => {}, 1000)', { timeoutMs: 50 })).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'node took longer than 0.05 s',
  });
});

it('ends a program that prints too much', async () => {
  const endless = 'setInterval(() => process.stdout.write("x".repeat(1000)), 1)';
  await expect(run(endless, { maxOutputBytes: 5_000 })).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: 'node printed more than 5000 bytes',
  });
});

it('ends a program politely when the step is cancelled', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-command-'));
  const left = join(directory, 'left');
  const script = `
    process.on('SIGINT', () => { require('fs').writeFileSync(${JSON.stringify(left)}, 'tidy'); process.exit(0); });
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const abort = new AbortController();
  const reason = new Error('cancelled');
  const onLine = (): void => abort.abort(reason);
  try {
    await expect(run(script, { signal: abort.signal, onLine })).rejects.toBe(reason);
    expect(await readFile(left, 'utf8')).toBe('tidy');
  } finally {
    await rm(directory, { recursive: true });
  }
});

it('kills a program that does not end when it is asked', async () => {
  const script = `
    for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => undefined);
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const abort = new AbortController();
  const reason = new Error('cancelled');
  const onLine = (): void => abort.abort(reason);
  await expect(run(script, { signal: abort.signal, graceMs: 20, onLine })).rejects.toBe(reason);
});

it.each([
  [['kargs', '--append=password=geheim', '--append=b', 'x'], 'rpm-ostree kargs --append'],
  [['admin', 'undeploy', '0'], 'rpm-ostree admin undeploy'],
  [['--sysroot', '/', 'stage', 'h/n@sha256:1', '--signed'], 'rpm-ostree stage --sysroot --signed'],
  [[], 'rpm-ostree'],
])('names of the arguments %j only their names', (args, name) => {
  const error = failed('/usr/bin/rpm-ostree', args, { status: 1, lines: [], said: 'no' });
  expect(error.message).toBe(`${name}: no (exit status 1)`);
});

it('starts nothing for a step that is cancelled already', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-command-'));
  const file = join(directory, 'made');
  const signal = AbortSignal.abort(new Error('cancelled'));
  try {
    const script = `require('fs').writeFileSync(${JSON.stringify(file)}, '')`;
    await expect(run(script, { signal })).rejects.toThrow('cancelled');
    expect(existsSync(file)).toBe(false);
  } finally {
    await rm(directory, { recursive: true });
  }
});

it.each([
  ['Authorization: Bearer abc.DEF-1', 'Authorization: Bearer ***'],
  ['Basic dXNlcjpwYXNz refused', 'Basic *** refused'],
  ['https://auth/token?access_token=abc&scope=x', 'https://auth/token?access_token=***&scope=***'],
  ['No key "rd.luks.key=geheim" in root=UUID=1 ro', 'No key "rd.luks.key=***" in root=*** ro'],
  ['bad argument a="b c', 'bad argument a=***'],
  ['{"auths":{"host":{"auth": "bWU6cHc="}}}', '{"auths":{"host":{"auth":"***"}}}'],
  ['pull of host/os@sha256:12 failed', 'pull of host/os@sha256:12 failed'],
])('takes credentials out of %s', (text, clean) => {
  expect(withoutCredentials(text)).toBe(clean);
});
