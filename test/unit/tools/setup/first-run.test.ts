import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLUSTER_BINARY_NAMES, sourceOf } from '../../../../tools/binaries/catalogue';
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

it('says on a fresh clone how long the first run takes, and what for', () => {
  const servers = CLUSTER_BINARY_NAMES.filter((name) => name !== 'kubectl');
  const build = servers.reduce((sum, name) => sum + sourceOf(name).buildMinutes, 0);

  expect(said()).toBe(
    `slipway: about 4 min (about ${Math.ceil(build + 2)} where Go has to build the servers) for what later ` +
      'runs find ready: npm dependencies, the compiled sources, temporal, etcd, kube-apiserver, kwok\n',
  );
});

it('says no more than what is missing', () => {
  make('dist', 'cache/etcd', 'cache/kubernetes', 'cache/kwok', 'cache/temporal-cli');

  expect(said()).toBe('slipway: about 1 min for what later runs find ready: npm dependencies\n');
  make('node_modules');
  expect(said()).toBe('');
});
