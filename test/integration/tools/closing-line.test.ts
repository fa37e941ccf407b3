import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';

/** Slow on a busy machine: npm and two or three programs in sequence. */
const LIMIT_MS = 60_000;
/** A file in the clone, which a project's runner writes. */
const RAN = 'ran';

let clone: string;
beforeEach(() => {
  clone = aClone();
});
afterEach(() => {
  rmSync(clone, { recursive: true, force: true });
});

test(
  'tests that pass are counted over all projects, and the exit status is 0',
  () => {
    expect(run('npm', ['test', '--silent', '--', 'simulation', 'e2e'])).toMatchObject({
      last: '4 passed, 0 failed',
      status: 0,
    });
  },
  LIMIT_MS,
);

test(
  'tests that were skipped are on a line of their own before the closing one',
  () => {
    put('node_modules/.bin/jest', jestThat({ numPassedTests: 3, numPendingTests: 2 }));

    const { lines } = run('npm', ['test', '--silent', '--', 'simulation']);

    expect(lines.slice(-2)).toEqual(['2 skipped', '3 passed, 0 failed']);
  },
  LIMIT_MS,
);

test(
  'a build that fails counts for every project that it keeps from running',
  () => {
    put('tools/setup/build.mjs', 'process.exit(2);');

    const ended = run('npm', ['test', '--silent', '--', 'simulation', 'e2e']);

    expect(ended).toMatchObject({ last: '0 passed, 2 failed', status: 1 });
    expect(ended.errors).toContain('the build failed (exit status 2)');
  },
  LIMIT_MS,
);

test(
  'without servers the projects that need none still run, and the others count as failed',
  () => {
    put('dist/tools/fetch.js', 'process.exit(1);');

    const ended = run('npm', ['test', '--silent', '--', 'simulation', 'workflow', 'e2e']);

    expect(ended).toMatchObject({ last: '2 passed, 2 failed', status: 1 });
    expect(ended.errors).toContain('the development servers are not there (exit status 1)');
  },
  LIMIT_MS,
);

test(
  'what needs no servers is tested while those are made',
  () => {
    put('dist/tools/fetch.js', untilThere(RAN));

    const ended = run('npm', ['test', '--silent', '--', 'simulation', 'e2e']);

    expect(ended).toMatchObject({ last: '4 passed, 0 failed', status: 0 });
  },
  LIMIT_MS,
);

test(
  'servers that are being made when the tests are interrupted are made no further',
  () => {
    put(
      'dist/tools/fetch.js',
      "process.kill(process.ppid, 'SIGTERM'); setTimeout(() => undefined, 1_000_000);",
    );

    const ended = run('node', ['tools/setup/test.mjs', 'e2e']);

    expect(ended).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
    expect(ended.errors).toContain('the development servers are not there (SIGTERM)');
    expect(ended.lines).not.toContain('== e2e tests …');
  },
  LIMIT_MS,
);

test.each([
  [['hosts'], 1],
  [['simulation', 'hosts'], 2],
  [['simulation', 'hosts', 'test/hosts/power'], 2],
  [['simulation', 'faults', 'hosts'], 3],
])(
  'what waits longest has a lane of its own beside other projects, and is counted (%j)',
  (args, runs) => {
    const nothing = '() => undefined';
    put(
      'tools/setup/host-packages.mjs',
      `export const requireHostPackages = ${nothing}, requireUnitPackages = ${nothing};`,
    );
    put('tools/setup/host-bundle.mjs', '');
    put('dist/test/hosts/standin/main.js', '');
    put('dist/test/hosts/build/main.js', '');
    put('tools/setup/in-namespace.sh', '#!/bin/sh\nexec "$@"');

    const ended = run('npm', ['test', '--silent', '--', ...args]);

    expect(ended).toMatchObject({ last: `${2 * runs} passed, 0 failed`, status: 0 });
  },
  LIMIT_MS,
);

test(
  'a project whose runner cannot be started counts as failed',
  () => {
    rmSync(join(clone, 'node_modules', '.bin', 'jest'));

    expect(run('npm', ['test', '--silent', '--', 'simulation', 'e2e'])).toMatchObject({
      last: '0 passed, 2 failed',
      status: 1,
    });
  },
  LIMIT_MS,
);

test(
  'tests that were interrupted during the set-up count as failed, and none is begun',
  () => {
    put('tools/setup/build.mjs', "process.kill(process.ppid, 'SIGINT');");

    const ended = run('node', ['tools/setup/test.mjs', 'simulation']);

    expect(ended).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
    expect(ended.lines).not.toContain('== simulation tests …');
  },
  LIMIT_MS,
);

test(
  'no room for results counts as failed',
  () => {
    const nowhere = { TMPDIR: join(clone, 'nowhere') };

    const ended = run('node', ['tools/setup/test.mjs', 'simulation'], nowhere);

    expect(ended).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
    expect(ended.errors).toContain('ENOENT');
  },
  LIMIT_MS,
);

test(
  'dependencies that cannot be installed count as failed',
  () => {
    put('package-lock.json', 'no lockfile');

    const ended = run('npm', ['test', '--silent']);

    expect(ended).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
    expect(ended.errors).toContain('slipway: npm ci failed');
  },
  LIMIT_MS,
);

test(
  'continuous integration ends with the closing line also when the fast gate fails',
  () => {
    put(
      'tools/setup/verify.mjs',
      "process.stdout.write('verify: format … failed\\n'); process.exit(1);",
    );

    expect(run('.ci/run', [])).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
  },
  LIMIT_MS,
);

test(
  'files for `npm run test:all` are left out of `npm test`, and dealt to parts of which each is run once',
  () => {
    const files = ['a', 'b', 'c', 'd'].map((name) => `test/simulation/${name}.all.test.ts`);
    for (const file of [...files, 'test/simulation/short.test.ts']) put(file, '');
    put('node_modules/.bin/jest', jestThat({ numPassedTests: 1 }));
    const seconds = Object.fromEntries(files.map((file, index) => [file, 10 * index]));
    put('tools/setup/test-seconds.json', JSON.stringify(seconds));

    run('npm', ['test', '--silent', '--', 'simulation']);
    expect(ran()).toContain('--testPathIgnorePatterns \\.all\\.test\\.ts$');
    const parts = ['1/2', '2/2'].map((part) => {
      run('npm', ['run', '--silent', 'test:all', '--', 'part', part, 'simulation']);
      return ran().match(/test\/simulation\/\S+/g);
    });
    // The longest first, each to the part that has least to do.
    expect(parts).toEqual([
      [files[3], files[0]],
      [files[2], files[1]],
    ]);
  },
  LIMIT_MS,
);

test.each([
  ['a part that is none', ['3/2'], 'part: give k/n'],
  ['a part that would change how the next ones are dealt', ['1/2', '--write'], '--write: run all'],
])(
  '%s counts as failed, and nothing is run',
  (_what, args, why) => {
    const ended = run('npm', ['run', '--silent', 'test:all', '--', 'part', ...args]);

    expect(ended).toMatchObject({ last: '0 passed, 1 failed', status: 1 });
    expect(ended.errors).toContain(why);
  },
  LIMIT_MS,
);

/** What `npm test` and continuous integration consist of, with stand-ins for what takes minutes. */
function aClone(): string {
  clone = mkdtempSync(join(tmpdir(), 'slipway-closing-line-'));
  for (const path of ['tools/setup', 'package.json', '.ci/run'])
    cpSync(join(repositoryRoot(), path), join(clone, path), { recursive: true });
  put('package-lock.json', '{}');
  put(
    'node_modules/.cache/slipway/installed-lockfile',
    createHash('sha256').update('{}').digest('hex'),
  );
  put('tools/setup/build.mjs', '');
  put('dist/tools/fetch.js', '');
  put('node_modules/.bin/jest', jestThat({ numPassedTests: 2 }));
  return clone;
}

function put(path: string, text: string): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  writeFileSync(join(clone, path), text, { mode: 0o755 });
}

/** A program that succeeds once the file exists, and fails when it does not come. */
function untilThere(path: string): string {
  return [
    "const { existsSync } = require('node:fs');",
    `setInterval(() => existsSync('${path}') && process.exit(0), 50);`,
    `setTimeout(() => process.exit(1), ${LIMIT_MS / 2});`,
  ].join('\n');
}

/** With what the runner ran last. */
function ran(): string {
  return readFileSync(join(clone, RAN), 'utf8');
}

/** A runner that leaves these results, and says in a file with what it has run. */
function jestThat(results: Readonly<Record<string, number>>): string {
  const none = {
    numPassedTests: 0,
    numFailedTests: 0,
    numPendingTests: 0,
    numTodoTests: 0,
    numRuntimeErrorTestSuites: 0,
  };
  return [
    `#!${process.execPath}`,
    "const file = process.argv.find((one) => one.startsWith('--outputFile=')).slice(13);",
    `require('node:fs').writeFileSync(file, '${JSON.stringify({ ...none, ...results })}');`,
    `require('node:fs').writeFileSync('${RAN}', process.argv.slice(2).join(' '));`,
  ].join('\n');
}

function run(
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): { status: number | null; lines: readonly string[]; last: string | undefined; errors: string } {
  const path = command.includes('/') ? join(clone, command) : command;
  const { status, stdout, stderr } = spawnSync(path, args, {
    cwd: clone,
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
  const lines = stdout.trimEnd().split('\n');
  return { status, lines, last: lines.at(-1), errors: stderr };
}
