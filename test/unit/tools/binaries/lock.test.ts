import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withLock } from '../../../../tools/binaries/lock';
import { startScript, type ScriptProcess } from '../script-process';

jest.setTimeout(60_000);

describe('the lock between processes', () => {
  let directory: string;
  let lock: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-lock-'));
    lock = join(directory, 'tool.lock');
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function startHolder(): ScriptProcess {
    return startScript(join(__dirname, 'hold-lock.ts'), [lock, join(directory, 'token')]);
  }

  it('makes the second process wait, naming whom it waits for, until the first is done', async () => {
    const first = startHolder();
    await first.line('held');
    const second = startHolder();

    expect(await second.line('waiting')).toBe(`waiting for ${first.pid} testing`);
    first.goOn();
    await first.line('released');
    await second.line('held');

    second.goOn();
    expect(await second.ended()).toBe(0);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('lets one process at a time take over from a holder that was killed', async () => {
    const dead = startHolder();
    await dead.line('held');
    await dead.kill();
    rmSync(join(directory, 'token'));

    const heirs = [startHolder(), startHolder(), startHolder(), startHolder()];
    for (const heir of heirs) heir.goOn();

    expect(await Promise.all(heirs.map((heir) => heir.ended()))).toEqual([0, 0, 0, 0]);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is released when the work fails', async () => {
    const failing = withLock(lock, 'failing', () => Promise.reject(new Error('no disk')));
    await expect(failing).rejects.toThrow('no disk');

    expect(await withLock(lock, 'working', () => Promise.resolve('done'))).toBe('done');
  });
});
