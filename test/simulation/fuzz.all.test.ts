/** `npm run fuzz` as a process: what it says, and how it ends. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository-root';

const MAIN = join(repositoryRoot(), 'dist', 'test', 'simulation', 'main.js');
/** Other work may go on on the machine that runs the tests. */
const PATIENCE_MS = 300_000;

function fuzz(...options: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...options], {
    cwd: repositoryRoot(),
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

describe('npm run fuzz', () => {
  it(
    'ends with 0 when no seed breaks anything',
    () => {
      const { status, stdout } = fuzz('--seeds', '2', '--from', '17');

      expect(stdout).toMatch(/^2 seeds from 17: no invariant broken in \d+ events/m);
      expect(status).toBe(0);
    },
    PATIENCE_MS,
  );

  it(
    'ends with 1 at the first seed that does, and says how to see exactly that again',
    () => {
      const trace = ['--trace', '20'];
      const planted = ['--plant', 'statusOfAllNodes'];
      const { status, stdout } = fuzz('--seeds', '3', '--from', '6', ...planted, ...trace);

      expect(stdout).toMatch(/^seed 7 .* breaks\n {2}I7: /m);
      const again = /^again: npm run fuzz -- (.*)$/m.exec(stdout)?.[1];
      expect(again).toBe('--seeds 1 --from 7 --plant statusOfAllNodes');
      expect(status).toBe(1);
      expect(fuzz(...(again ?? '').split(' '), ...trace)).toMatchObject({ status: 1, stdout });
    },
    PATIENCE_MS,
  );

  it(
    'goes on for as long as it is told, and no longer than the seed that it is at, of which there is one',
    () => {
      const { status, stdout } = fuzz('--minutes', '0.000000001', '--from', '17', '--plain');

      expect(stdout).toMatch(/^[1-9]\d* seeds from 17: no invariant broken/m);
      expect(status).toBe(0);
    },
    PATIENCE_MS,
  );

  it('refuses what is no number of seeds', () => {
    const { status, stderr } = fuzz('--seeds', 'many');

    expect(stderr).toContain('expected a whole number from 1 on');
    expect(status).not.toBe(0);
  });
});
