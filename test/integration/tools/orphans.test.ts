import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { gone, removed } from '../../unit/tools/await-process';
import { startScript } from '../../unit/tools/script-process';

jest.setTimeout(240_000);

describe('a cluster whose process is killed', () => {
  it('leaves no server and no directory behind', async () => {
    const parent = startScript(join(__dirname, 'start-everything.ts'));
    const started = JSON.parse((await parent.line('{')).trim()) as {
      pids: number[];
      directories: string[];
    };
    expect(started.pids).toHaveLength(6);
    expect(started.directories.filter(existsSync)).toHaveLength(2);

    await parent.kill();

    await Promise.all(started.pids.map(gone));
    await Promise.all(started.directories.map(removed));
  });
});
