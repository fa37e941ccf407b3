import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from '../../../tools/repository-root';

let checkout: string;
let started: ChildProcess | undefined;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'slipway-launcher-'));
  cpSync(join(repositoryRoot(), 'bin'), join(checkout, 'bin'), { recursive: true });
  put('dist/cli/main.js', 'process.stdout.write(`${process.version} ${process.argv.slice(2)}`);');
});
afterEach(() => {
  started?.kill('SIGKILL');
  started = undefined;
  rmSync(checkout, { recursive: true, force: true });
});

test('a signal to the command reaches it also where the Node of the system is too old', async () => {
  bringNode();
  put(
    'dist/cli/main.js',
    `process.once('SIGTERM', () => process.exit(7));
     process.stdout.write(process.pid + '\\n');
     setInterval(() => undefined, 60_000);`,
  );
  started = spawn(join(checkout, 'bin', 'slipway'), [], { env: environment('v20.20.2') });
  const [pid] = (await once(createInterface({ input: started.stdout! }), 'line')) as [string];

  started.kill('SIGTERM');

  const [status] = (await once(started, 'exit')) as [number | null];
  expect({ pid: Number(pid), status }).toEqual({ pid: started.pid, status: 7 });
});

test.each(['slipway', 'kubectl-slipway'])('%s may be a link from elsewhere', (name) => {
  bringNode();
  const link = join(checkout, 'elsewhere');
  symlinkSync(join(checkout, 'bin', name), link);

  expect(run(link, ['get', 'two words'], 'v20.20.2')).toEqual({
    status: 0,
    stdout: `${process.version} get,two words`,
    stderr: '',
  });
});

test.each(['v22.19.0', 'v24.0.0'])('without a Node of its own it takes %s', (version) => {
  expect(run(join(checkout, 'bin', 'slipway'), ['version'], version)).toMatchObject({
    status: 0,
    stdout: `${process.version} version`,
  });
});

test.each(['v20.20.2', 'v22.18.0'])('without a Node of its own it refuses %s', (version) => {
  expect(run(join(checkout, 'bin', 'slipway'), ['version'], version)).toEqual({
    status: 1,
    stdout: '',
    stderr: `slipway: needs Node 22.19 or newer, this is ${version}; run \`npm ci\` or upgrade Node\n`,
  });
});

test('without any Node it says what is missing', () => {
  const ended = run(join(checkout, 'bin', 'slipway'), ['version'], undefined);

  expect(ended).toEqual({
    status: 1,
    stdout: '',
    stderr: 'slipway: needs Node 22.19 or newer, and there is none; run `npm ci` or install Node\n',
  });
});

test('without a build it says how to build', () => {
  rmSync(join(checkout, 'dist'), { recursive: true });
  bringNode();

  expect(run(join(checkout, 'bin', 'slipway'), [], 'v20.20.2')).toMatchObject({
    status: 1,
    stderr: 'slipway: not built yet; run `npm run build` first\n',
  });
});

/** As npm does, from the optional packages. */
function bringNode(): void {
  mkdirSync(join(checkout, 'node_modules', '.bin'), { recursive: true });
  symlinkSync(process.execPath, join(checkout, 'node_modules', '.bin', 'node'));
}

/** A PATH whose Node.js has this version; undefined = none. */
function environment(version: string | undefined): NodeJS.ProcessEnv {
  const node = `if [ "$1" = --version ]; then echo ${version}; exit; fi\nexec '${process.execPath}' "$@"`;
  if (version !== undefined) put('system/node', `#!/bin/sh\n${node}\n`);
  for (const name of ['dirname', 'readlink'])
    put(`system/${name}`, `#!/bin/sh\nexec /usr/bin/${name} "$@"\n`);
  return { PATH: join(checkout, 'system') };
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(checkout, path)), { recursive: true });
  writeFileSync(join(checkout, path), text, { mode: 0o755 });
}

function run(
  path: string,
  args: readonly string[],
  version: string | undefined,
): { status: number | null; stdout: string; stderr: string } {
  const options = { encoding: 'utf8', env: environment(version) } as const;
  const { status, stdout, stderr } = spawnSync(path, args, options);
  return { status, stdout, stderr };
}
