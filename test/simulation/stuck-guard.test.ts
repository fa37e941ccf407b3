import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';

const GUARD = join(repositoryRoot(), 'dist/test/simulation/temporal/stuck-guard.js');

function run(program: string) {
  const text = `const { StuckGuard } = require(${JSON.stringify(GUARD)}); const guard = new StuckGuard(200); ${program}`;
  return spawnSync(process.execPath, ['-e', text], { encoding: 'utf8' });
}

it('ends the process in which a call never ends, and names it', () => {
  const { signal, stderr } = run(`guard.watch('update-node/a', async () => { for (;;); });`);

  expect(signal).toBe('SIGKILL');
  expect(stderr).toBe('simulation: one activation has not ended in 0.2 s: update-node/a\n');
});

it('lets calls come and go, and the process end', () => {
  const { status, stderr } = run(`
    (async () => {
      const until = Date.now() + 1_000;
      while (Date.now() < until) await guard.watch('update-node/a', async () => undefined);
    })();
  `);

  expect(stderr).toBe('');
  expect(status).toBe(0);
});
