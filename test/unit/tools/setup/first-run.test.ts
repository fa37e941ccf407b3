import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../../../tools/repository-root';

const SCRIPT = join('tools', 'setup', 'first-run.mjs');

let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'slipway-first-run-'));
  cpSync(join(repositoryRoot(), SCRIPT), join(clone, SCRIPT));
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

function said(): string {
  const { stderr, status } = spawnSync(process.execPath, [join(clone, SCRIPT)], {
    encoding: 'utf8',
    env: { PATH: '', SLIPWAY_CACHE: join(clone, 'cache') },
  });
  expect(status).toBe(0);
  return stderr;
}

function make(...directories: readonly string[]): void {
  for (const directory of directories) mkdirSync(join(clone, directory), { recursive: true });
}

it('says on a fresh clone what has to be made, and how long that takes', () => {
  expect(said()).toBe(
    'slipway: this first run makes ready what later runs find: npm dependencies (1 min); ' +
      'compiling (1 min); real servers: temporal, etcd, kube-apiserver, kwok (downloads: 2 min; ' +
      'where there is no download, builds with Go: 14 min on two idle cores)\n',
  );
});

it('says no more than what is missing', () => {
  make('node_modules', 'dist', 'cache/etcd', 'cache/kubernetes', 'cache/kwok');

  expect(said()).toContain('find: real servers: temporal (');
  make('cache/temporal-cli');
  expect(said()).toBe('');
});
